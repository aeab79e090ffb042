"""A Snowflake whose grants count, and no AWS."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.clouds.cloud_snowflake import CloudSnowflake, cloud_snowflake
from kit.runs.alone import started_alone


@pytest.fixture(scope="session")
def lonely(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CloudSnowflake]:
    """With a warehouse and a database of the system's administrator."""
    folder = tmp_path_factory.mktemp("snowflake")
    for standin in started_alone(cloud_snowflake(folder), folder):
        standin.as_("SYSADMIN", "create warehouse wh", "create database db", "use warehouse wh")
        yield standin
