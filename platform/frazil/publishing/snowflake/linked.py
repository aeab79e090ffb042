"""Tables of a catalog-linked database: Snowflake finds and refreshes them by itself; Frazil looks at them.

An administrator makes such a database once (docs/snowflake.md). Names in it are spelled as the catalog has
them (docs.snowflake.com, "Use a catalog-linked database for Apache Iceberg tables").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from frazil.errors import FrazilError, RepairError
from frazil.publishing.glue import Glue
from frazil.publishing.snowflake.connection import MEANING, MOST_SHOWN, named_rows_or_none, shown_as
from frazil.publishing.snowflake.link import link_of
from frazil.publishing.snowflake.looks import asked
from frazil.publishing.snowflake.refreshing import RUNNING, own_refresh, refresh_status
from frazil.publishing.snowflake.sources import OwnTable, Source
from frazil.publishing.snowflake.statements import Relation, show_in
from frazil.publishing.target import Maker
from frazil.quoting import double_quoted
from frazil.settings.profile import Settings
from frazil.spec.names import TableName

if TYPE_CHECKING:
    from snowflake.connector import SnowflakeConnection

_LINK = Maker(
    "Snowflake's link to the catalog",
    todo="Snowflake looks into the catalog every 30 seconds by default; `frazil sync` says whether that "
    "fails.",
)


class LinkedTable:
    """A table that a catalog-linked database should have found."""

    maker: Maker | None = _LINK
    folds = True

    def __init__(self, database: str, name: TableName, glue: Glue) -> None:
        self.table = Relation(database.upper(), glue.database, name.table)

    def check(self, location: str) -> None:
        """See `Source`: the link's own volume, or the catalog, says what Snowflake may read."""

    def location(self, connection: SnowflakeConnection) -> str | None:
        """See `Source`.

        Raises:
            RepairError: Snowflake found the table, and can't read it.
        """
        shown = shown_as(connection, "ICEBERG TABLES", self.table)
        return _location(self.table, shown) if shown else None

    @staticmethod
    def locations(
        connection: SnowflakeConnection, tables: Sequence[Relation]
    ) -> Mapping[Relation, str | FrazilError]:
        """See `Source`: in one statement for each database, unless it has more tables than SHOW lists."""
        listed = {
            Relation(database, str(row["schema_name"]), str(row["name"])): row
            for database in dict.fromkeys(table.database for table in tables)
            for row in named_rows_or_none(connection, show_in("ICEBERG TABLES", database)) or ()
        }

        def of(part: Sequence[Relation]) -> list[str]:
            return [_location(table, listed[table]) for table in part]

        if len(listed) >= MOST_SHOWN:
            beyond = ((table, shown_as(connection, "ICEBERG TABLES", table)) for table in tables)
            listed |= {table: row for table, row in beyond if table not in listed and row}
        return asked(of, [table for table in tables if table in listed])

    def make(self, connection: SnowflakeConnection) -> None:
        """See `Source`: the link does it, or says why not.

        Raises:
            RetryError: It has not looked yet.
            RepairError: It fails, or can't take over this table.
        """
        raise link_of(connection, self.table.database).why_missing(self.table)

    def refresh(self, connection: SnowflakeConnection) -> None:
        """See `Source`.

        Raises:
            RepairError: The link fails, or Snowflake's own refresh of the table stands still.
        """
        if failure := link_of(connection, self.table.database).failure:
            raise failure
        status = own_refresh(connection, self.table)
        if status.get("executionState") != RUNNING:
            raise _stuck(self.table, status)

    def drop(self, connection: SnowflakeConnection) -> None:
        """See `Source`: the table goes with its entry in the catalog. A DROP here would drop that one."""


def _location(table: Relation, shown: Mapping[str, Any]) -> str:
    """The metadata file that a row of SHOW names.

    Raises:
        RepairError: It names none: Snowflake can't read the table.
    """
    status = refresh_status(shown)
    if file := status.get("currentMetadataFile"):
        return str(file)
    raise _stuck(table, status)


def _stuck(table: Relation, status: Mapping[str, Any]) -> FrazilError:
    state, reason = status.get("executionState"), status.get("invalidExecutionStateReason")
    return RepairError(
        "Snowflake does not refresh the table by itself, as it should in a catalog-linked database.",
        where=f"{table} is {state or 'without a state'}{f': {reason}' if reason else ''}",
        meaning=MEANING,
        todo="Fix what the message names, then "
        f"ALTER ICEBERG TABLE {double_quoted(*table.parts)} SET AUTO_REFRESH = TRUE.",
    )


def source_of(settings: Settings, name: TableName, glue: Glue) -> Source:
    """How a table comes to Snowflake, as the settings say."""
    linked = settings.snowflake.linked_database
    return LinkedTable(linked, name, glue) if linked else OwnTable(settings, name, glue)
