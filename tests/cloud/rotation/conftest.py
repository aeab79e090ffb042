"""A user of Snowflake whose keys are turned."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.clouds.cloud_aws import CloudAws
from kit.clouds.cloud_snowflake import CloudSnowflake
from kit.deployments.rotations import Administrator, RsaLab


@pytest.fixture(scope="session")
def administrator(snowflake_alone: CloudSnowflake) -> Iterator[Administrator]:
    administrator = Administrator.of(snowflake_alone)
    yield administrator
    administrator.close()


@pytest.fixture
def lab(administrator: Administrator, aws: CloudAws, fresh_name: str) -> RsaLab:
    """A service user with one key, and its secret."""
    return RsaLab(administrator, aws, fresh_name.upper())
