"""A Snowflake for the tests of rotation, and a user whose keys are turned."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from frazil.settings.profile import Settings
from kit.cloud_aws import CloudAws
from kit.rotations import Administrator, RsaLab
from kit.standin import StandIn


@pytest.fixture(scope="session")
def standin(nobody_at_home: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIn]:
    nowhere = "http://127.0.0.1:9"
    told = Settings.load(
        aws={"access_key": "none", "secret_key": "none"}, glue={"endpoint": nowhere}, s3={"endpoint": nowhere}
    )
    with StandIn(told, tmp_path_factory.mktemp("snowflake")) as standin:
        yield standin


@pytest.fixture(scope="session")
def administrator(standin: StandIn) -> Iterator[Administrator]:
    with standin.connect() as connection:
        yield Administrator(standin, connection)


@pytest.fixture
def lab(administrator: Administrator, aws: CloudAws, fresh_name: str) -> RsaLab:
    """A service user with one key, and its secret."""
    return RsaLab(administrator, aws, fresh_name.upper())
