"""Lets Snowflake read a table's newest metadata, unless it does so by itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from frazil.errors import RepairError
from frazil.publishing.snowflake.connection import rows, shown_as
from frazil.publishing.snowflake.statements import Relation
from frazil.quoting import double_quoted

if TYPE_CHECKING:
    from snowflake.connector import SnowflakeConnection

RUNNING = "RUNNING"
"""The state of a refresh of Snowflake's own that goes on."""


def refresh(connection: SnowflakeConnection, table: Relation) -> None:
    """Reads the metadata that Glue points to now.

    Raises:
        RepairError: Snowflake refreshes the table by itself, and then takes no REFRESH.
    """
    from snowflake.connector.errors import ProgrammingError

    try:
        rows(connection, f"ALTER ICEBERG TABLE {table} REFRESH")
    except ProgrammingError as e:
        if status := own_refresh(connection, table):
            raise _refreshes_itself(table, str(status.get("executionState"))) from e
        raise


def own_refresh(connection: SnowflakeConnection, table: Relation) -> dict[str, Any]:
    """How Snowflake's own refresh of a table stands; empty where it has none."""
    return refresh_status(shown_as(connection, "ICEBERG TABLES", table))


def refresh_status(shown: Mapping[str, Any]) -> dict[str, Any]:
    """The same in a row of SHOW."""
    status: dict[str, Any] = json.loads(shown.get("auto_refresh_status") or "{}")
    return status


def _refreshes_itself(table: Relation, state: str) -> RepairError:
    later = "when it looks into Glue the next time" if state == RUNNING else "when that refresh runs again"
    return RepairError(
        "Snowflake refreshes this table by itself, so it refuses to do it now.",
        where=f"AUTO_REFRESH of {table} is {state}",
        meaning=f"The Iceberg table is right; Snowflake shows newer rows {later}.",
        todo=f"ALTER ICEBERG TABLE {double_quoted(*table.parts)} SET AUTO_REFRESH = FALSE leaves it to "
        "Frazil; then `frazil sync`.",
    )
