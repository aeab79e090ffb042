"""How a catalog-linked database follows its catalog, as Snowflake says, and what that means."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from frazil.errors import FrazilError, MissingError, RepairError, RetryError
from frazil.publishing.snowflake.connection import MEANING, MISSING, rows
from frazil.publishing.snowflake.statements import Relation, link_status
from frazil.quoting import double_quoted

if TYPE_CHECKING:
    from snowflake.connector import SnowflakeConnection

_FAILED = "FAILED"


@dataclass(frozen=True)
class Link:
    """The link of one database; empty where Snowflake can't tell, as it may be for a catalog of Glue."""

    database: str
    status: dict[str, Any] = field(default_factory=dict)

    @property
    def failure(self) -> FrazilError | None:
        """Why it follows nothing any more; None where it does, as far as anybody knows."""
        if self.status.get("executionState") != _FAILED:
            return None
        reason = self.status.get("failedExecutionStateReason")
        number = self.status.get("failedExecutionStateErrorCode")
        return RepairError(
            "Snowflake's link to the catalog fails.",
            where=f"SYSTEM$CATALOG_LINK_STATUS of {self.database}: {reason} ({number})",
            meaning=MEANING,
            todo="Fix what the message names. Then Snowflake goes on by itself, unless discovery was "
            f"suspended: ALTER DATABASE {double_quoted(self.database)} RESUME DISCOVERY.",
        )

    def why_missing(self, table: Relation) -> FrazilError:
        """Why a table is not in the database."""
        return self.failure or self._refusal(table) or _not_found_yet(table)

    def _refusal(self, table: Relation) -> FrazilError | None:
        own, details = f"{table.schema}.{table.name}", self.status.get("failureDetails") or ()
        failed = next((each for each in details if each.get("qualifiedEntityName") == own), None)
        if failed is None:
            return None
        return RepairError(
            "Snowflake can't take over the table from the catalog.",
            where=f"{table}: {failed.get('errorMessage')} ({failed.get('errorCode')})",
            meaning=MEANING,
            todo="Fix what the message names; Snowflake tries again by itself.",
        )


def link_of(connection: SnowflakeConnection, database: str) -> Link:
    """The link of a catalog-linked database, in one statement.

    Raises:
        MissingError: There is no such database.
    """
    from snowflake.connector.errors import ProgrammingError

    try:
        return Link(database, json.loads(rows(connection, link_status(database))[0][0]))
    except ProgrammingError as e:
        if e.errno in MISSING:
            raise _no_database(database) from e
        return Link(database)


def _no_database(database: str) -> MissingError:
    return MissingError(
        f"Snowflake has no database {database}, or hides it from this user.",
        where="FRAZIL_SNOWFLAKE__LINKED_DATABASE",
        meaning=MEANING,
        todo="An administrator makes it once: docs/snowflake.md, Catalog-linked databases.",
    )


def _not_found_yet(table: Relation) -> FrazilError:
    return RetryError(
        "Snowflake has not found the table in the catalog yet.",
        where=str(table),
        meaning="The Iceberg table is right; Snowflake does not show it.",
        todo="Wait for its next look, every 30 seconds by default, then `frazil sync`. If that says the same "
        "for long, ALLOWED_NAMESPACES or BLOCKED_NAMESPACES of the database may leave the table out.",
    )
