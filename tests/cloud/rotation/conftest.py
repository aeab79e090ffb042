"""A Snowflake for the tests of rotation, and a user whose keys are turned."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.clouds.cloud_aws import CloudAws
from kit.clouds.cloud_snowflake import CloudSnowflake, cloud_snowflake
from kit.deployments.rotations import Administrator, RsaLab
from kit.runs.alone import started_alone


@pytest.fixture(scope="session")
def standin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CloudSnowflake]:
    folder = tmp_path_factory.mktemp("snowflake")
    yield from started_alone(cloud_snowflake(folder), folder)


@pytest.fixture(scope="session")
def administrator(standin: CloudSnowflake) -> Iterator[Administrator]:
    administrator = Administrator.of(standin)
    yield administrator
    administrator.close()


@pytest.fixture
def lab(administrator: Administrator, aws: CloudAws, fresh_name: str) -> RsaLab:
    """A service user with one key, and its secret."""
    return RsaLab(administrator, aws, fresh_name.upper())
