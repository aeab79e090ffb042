"""Snowflake: the login, and what the tables need of the account."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from frazil.connections import Connections
from frazil.doctor.probe import Patient, Probe, Probes, Unproven
from frazil.doctor.remedies import snowflake_grant
from frazil.errors import MissingError, NotAllowedError
from frazil.publishing.snowflake import statements
from frazil.publishing.snowflake.connection import connection_errors, rows, rows_or_none, statement_errors
from frazil.publishing.snowflake.link import link_of
from frazil.publishing.snowflake.statements import Relation, integration_of, volume_of
from frazil.publishing.snowflake.tables import Snowflake
from frazil.quoting import double_quoted
from frazil.settings.profile import Settings

if TYPE_CHECKING:
    from snowflake.connector import SnowflakeConnection


def probes(patient: Patient) -> Probes:
    """One connection for all of them."""
    settings = patient.connections.settings
    tables = [Snowflake(spec, settings).table for spec in patient.shown_in("snowflake")]
    with ExitStack() as until_the_end:
        account = _Account(patient.connections, until_the_end)
        if (yield Probe("log in", account.log_in, f"user {settings.snowflake.user}")).fine:
            yield from _objects(settings, account)
            yield from _tables(tables, account, refreshes=not settings.snowflake.linked_database)


def _objects(settings: Settings, account: _Account) -> Probes:
    """What tables and checks need beside the tables themselves."""
    access, volume = settings.snowflake, volume_of(settings).name
    if access.warehouse:
        grant = snowflake_grant("USAGE", "WAREHOUSE", access.warehouse, account.role)
        yield Probe("use the warehouse", partial(account.use, access.warehouse), access.warehouse, grant)
    if access.role:
        yield Probe("find the readers' role", partial(account.find_role, access.role), access.role)
    if linked := access.linked_database:
        yield Probe("find the linked database", partial(account.linked, linked), linked)
        return
    for kind, name, privilege in (
        ("EXTERNAL VOLUME", volume, "CREATE EXTERNAL VOLUME"),
        ("CATALOG INTEGRATION", integration_of(settings, "").name, "CREATE INTEGRATION"),
    ):
        grant = snowflake_grant(privilege, "ACCOUNT", "", account.role)
        yield Probe(f"find the {kind.lower()}", partial(account.describe, kind, name), name, grant)


def _tables(tables: Sequence[Relation], account: _Account, *, refreshes: bool) -> Probes:
    """Each table, and in each schema one that is refreshed, as a sync does."""
    refreshed: set[str] = set()
    for table in tables:
        schema, of = f"{table.database}.{table.schema}", f"{table.schema}.{table.name}".lower()
        grant = snowflake_grant("CREATE ICEBERG TABLE", "SCHEMA", schema, account.role)
        finding = yield Probe("look at the table", partial(account.look, table), of, grant)
        if refreshes and finding.status == "ok" and schema not in refreshed:
            refreshed.add(schema)
            grant = snowflake_grant("OWNERSHIP", "TABLE", f"{schema}.{table.name}", account.role)
            yield Probe("refresh the table", partial(account.refresh, table), of, grant)


class _Account:
    """The account, as the user of the settings sees it."""

    def __init__(self, connections: Connections, until_the_end: ExitStack) -> None:
        self._connections, self._until_the_end = connections, until_the_end
        self._connection: SnowflakeConnection
        self.role = "PUBLIC"

    def log_in(self) -> None:
        with connection_errors(self._connections.settings):
            self._connection = self._until_the_end.enter_context(self._connections.snowflake())
        self.role = str(self._rows("SELECT CURRENT_ROLE()")[0][0] or self.role)

    def use(self, warehouse: str) -> None:
        with connection_errors(self._connections.settings), statement_errors("Snowflake"):
            if rows_or_none(self._connection, f"USE WAREHOUSE {double_quoted(warehouse.upper())}") is None:
                raise NotAllowedError("It is not there, or this user may not use it.")

    def find_role(self, role: str) -> None:
        if not any(row[1] == role.upper() for row in self._rows(f"SHOW ROLES LIKE {statements.text(role)}")):
            raise MissingError(
                "There is no such role, or this user does not see it.",
                where=role,
                todo=f"CREATE ROLE {double_quoted(role.upper())};",
            )

    def linked(self, database: str) -> None:
        with connection_errors(self._connections.settings), statement_errors("Snowflake"):
            if failure := link_of(self._connection, database.upper()).failure:
                raise failure

    def describe(self, kind: str, name: str) -> None:
        self._find(f"DESCRIBE {kind} {double_quoted(name)}")

    def look(self, table: Relation) -> None:
        self._find(statements.table_information(table))

    def refresh(self, table: Relation) -> None:
        self._rows(f"ALTER ICEBERG TABLE {table} REFRESH")

    def _find(self, sql: str) -> None:
        with connection_errors(self._connections.settings), statement_errors("Snowflake"):
            if rows_or_none(self._connection, sql) is None:
                raise Unproven("It is not there, or this user does not see it; the first sync makes it.")

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        with connection_errors(self._connections.settings), statement_errors("Snowflake"):
            return rows(self._connection, sql)
