"""What a table in Snowflake needs besides itself, made where it is missing: schema, volume, integration.

Each is asked for first: making one needs a privilege even where it is there.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from frazil.errors import DifferentError
from frazil.publishing.snowflake import statements
from frazil.publishing.snowflake.connection import rows, rows_or_none
from frazil.publishing.snowflake.statements import Integration, Relation, Volume
from frazil.quoting import double_quoted

if TYPE_CHECKING:
    from snowflake.connector import SnowflakeConnection


def make_schema(connection: SnowflakeConnection, table: Relation) -> None:
    """The database and the schema of a table."""
    database = double_quoted(table.database)
    shown = rows_or_none(connection, f"SHOW SCHEMAS IN DATABASE {database}")
    if not shown:
        rows(connection, f"CREATE DATABASE IF NOT EXISTS {database}")
    if table.schema not in {row[1] for row in shown or ()}:
        rows(connection, f"CREATE SCHEMA IF NOT EXISTS {double_quoted(table.database, table.schema)}")


def make_integration(connection: SnowflakeConnection, integration: Integration) -> None:
    """The catalog integration with Glue."""
    asked = f"DESCRIBE CATALOG INTEGRATION {double_quoted(integration.name)}"
    if rows_or_none(connection, asked) is None:
        rows(connection, statements.create_integration(integration))


def make_volume(connection: SnowflakeConnection, volume: Volume) -> None:
    """The external volume; one of another place is not changed.

    Raises:
        DifferentError: It reads from elsewhere.
    """
    described = rows_or_none(connection, f"DESCRIBE EXTERNAL VOLUME {double_quoted(volume.name)}")
    if described is None:
        rows(connection, statements.create_volume(volume))
        return
    base_url = _base_url(described)
    if base_url.rstrip("/") + "/" != volume.base_url:
        raise DifferentError(
            f"Snowflake's external volume {volume.name} is of another place.",
            where=f"it reads {base_url}, the tables are below {volume.base_url}",
            meaning="The Iceberg table is right; Snowflake does not show it.",
            todo="Set FRAZIL_SNOWFLAKE__EXTERNAL_VOLUME to a new name, or drop the volume if nobody "
            "else reads by it.",
        )


def _base_url(described: list[tuple[Any, ...]]) -> str:
    locations = [row[3] for row in described if str(row[1]).startswith("STORAGE_LOCATION_")]
    return str(json.loads(locations[0])["STORAGE_BASE_URL"])
