"""A Snowflake whose grants count, and no AWS."""

from __future__ import annotations

import pytest

from kit.clouds.cloud_snowflake import CloudSnowflake


@pytest.fixture(scope="session")
def lonely(snowflake_alone: CloudSnowflake) -> CloudSnowflake:
    """With a warehouse and a database of the system's administrator."""
    snowflake_alone.as_("SYSADMIN", "create warehouse wh", "create database db", "use warehouse wh")
    return snowflake_alone
