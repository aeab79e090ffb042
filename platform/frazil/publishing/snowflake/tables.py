"""Iceberg tables in Snowflake: made if missing, refreshed, read, with a clean view beside each."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil.connections import Connections
from frazil.errors import DifferentError, MissingError
from frazil.publishing.snowflake import statements
from frazil.publishing.snowflake.connection import connection_errors
from frazil.publishing.snowflake.queries import columns_or_none, rows, rows_or_none, statement_errors, value
from frazil.publishing.snowflake.statements import Relation
from frazil.publishing.snowflake.storage import Volume, check_location, integration_of, volume_of
from frazil.spec.names import Things
from frazil.tables.catalog import load_table

if TYPE_CHECKING:
    from snowflake.connector import SnowflakeConnection


__all__ = ["SnowflakeState", "publish_table", "read_table"]


@dataclass(frozen=True, slots=True)
class SnowflakeState:
    """A table as Snowflake shows it."""

    database: str
    schema: str
    table: str
    view: str
    rows: int
    metadata_location: str
    created: bool


def publish_table(
    connections: Connections, things: Things, metadata_columns: Collection[str]
) -> SnowflakeState:
    """Makes the table and all it needs if missing, refreshes it, and keeps its clean view in step.

    Args:
        connections: The environment.
        things: The names of the table.
        metadata_columns: What the view leaves out.

    Raises:
        ConfigureError: Snowflake's volume does not cover the table, or the user may not do it.
        MissingError: There is no Iceberg table.
        PartDownError: Snowflake does not answer.
        RepairError: Snowflake can't read the table as it is.
    """
    table, view = _relations(things)
    check_location(
        volume_of(connections.settings),
        load_table(connections.catalog, things.table).metadata_location,
    )
    with _open(connections, table) as connection:
        missing = rows_or_none(connection, statements.table_information(table)) is None
        if missing:
            _make_table(connection, connections, things)
        else:
            rows(connection, statements.refresh_table(table))
        _keep_view(connection, table, view, metadata_columns)
        _grant(connection, table, view, connections.settings.snowflake_role)
        return _state(connection, table, view, created=missing)


def read_table(connections: Connections, things: Things) -> SnowflakeState:
    """The table as Snowflake shows it; changes nothing.

    Raises:
        MissingError: Snowflake has no such table.
        PartDownError: Snowflake does not answer.
    """
    table, view = _relations(things)
    with _open(connections, table) as connection:
        if rows_or_none(connection, statements.table_information(table)) is None:
            raise MissingError(
                f"Snowflake has no Iceberg table {table}.",
                todo=f"`frazil sync {things.table}` makes it.",
            )
        return _state(connection, table, view, created=False)


def _relations(things: Things) -> tuple[Relation, Relation]:
    database, schema = things.snowflake_database, things.snowflake_schema
    name = things.table.table.upper()
    return Relation(database, schema, name), Relation(database, schema, f"{name}_CLEAN")


@contextmanager
def _open(connections: Connections, table: Relation) -> Iterator[SnowflakeConnection]:
    with (
        connection_errors(connections.settings),
        connections.snowflake() as connection,
        statement_errors(str(table)),
    ):
        yield connection


def _make_table(connection: Any, connections: Connections, things: Things) -> None:
    table, _ = _relations(things)
    volume = volume_of(connections.settings)
    integration = integration_of(connections.settings, things.glue_database)
    rows(connection, statements.create_database(table.database))
    rows(connection, statements.create_schema(table.database, table.schema))
    _make_volume(connection, volume)
    # Asked first, for making it needs a privilege even where it is there.
    if rows_or_none(connection, statements.describe_integration(integration.name)) is None:
        rows(connection, statements.create_integration(integration))
    create = statements.create_table(table, volume, integration, things.glue_database, things.table.table)
    rows(connection, create)


def _make_volume(connection: SnowflakeConnection, volume: Volume) -> None:
    described = rows_or_none(connection, statements.describe_volume(volume.name))
    if described is None:
        rows(connection, statements.create_volume(volume))
        return
    base_url = _base_url(described)
    if base_url.rstrip("/") + "/" != volume.base_url:
        raise DifferentError(
            f"Snowflake's external volume {volume.name} is of another place.",
            where=f"it reads {base_url}, the tables are below {volume.base_url}",
            meaning="The Iceberg table is right; Snowflake does not show it.",
            todo="Set snowflake_external_volume to a new name, or drop the volume.",
        )


def _base_url(described: list[tuple[Any, ...]]) -> str:
    found = [row[3] for row in described if str(row[1]).startswith("STORAGE_LOCATION_")]
    return str(json.loads(found[0])["STORAGE_BASE_URL"])


def _keep_view(
    connection: SnowflakeConnection, table: Relation, view: Relation, left_out: Collection[str]
) -> None:
    hidden = {name.upper() for name in left_out}
    columns = columns_or_none(connection, statements.select_nothing(table)) or ()
    wanted = tuple(column for column in columns if column[0].upper() not in hidden)
    if columns_or_none(connection, statements.select_nothing(view)) != wanted:
        rows(connection, statements.create_view(view, table, [name for name, _ in wanted]))


def _grant(connection: SnowflakeConnection, table: Relation, view: Relation, role: str | None) -> None:
    for grant in statements.grant_reading(table, view, role.upper()) if role else ():
        rows(connection, grant)


def _state(
    connection: SnowflakeConnection, table: Relation, view: Relation, *, created: bool
) -> SnowflakeState:
    information = json.loads(value(connection, statements.table_information(table)))
    return SnowflakeState(
        database=table.database,
        schema=table.schema,
        table=table.name,
        view=view.name,
        rows=int(value(connection, statements.count_rows(table))),
        metadata_location=information["metadataLocation"],
        created=created,
    )
