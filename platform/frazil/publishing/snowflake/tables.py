"""Iceberg tables in Snowflake: made if missing, refreshed, read, with a clean view beside each."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import quote

from frazil.connections import Connections
from frazil.publishing.columns import Column
from frazil.publishing.glue import Glue
from frazil.publishing.labels import Labels
from frazil.publishing.pointer import waited
from frazil.publishing.snowflake import statements
from frazil.publishing.snowflake.comments import as_labels, comment_of, comments_of, keep_comments
from frazil.publishing.snowflake.connection import (
    columns_of,
    columns_or_none,
    connection_errors,
    rows,
    rows_or_none,
    statement_errors,
    view_text,
)
from frazil.publishing.snowflake.grants import RoleRights, keep_reading, lacking, rights_to_read
from frazil.publishing.snowflake.making import make_integration, make_schema, make_volume
from frazil.publishing.snowflake.protection import Protection
from frazil.publishing.snowflake.refreshing import refresh
from frazil.publishing.snowflake.statements import (
    Relation,
    check_location,
    integration_of,
    volume_of,
)
from frazil.publishing.target import Shown
from frazil.publishing.views.queries import CLEAN, CURRENT, clean_columns, clean_sql, current_sql
from frazil.quoting import double_quoted
from frazil.settings.profile import Settings
from frazil.spec.names import AssetPath, legal, things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import TableHandle

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.types import IcebergType
    from snowflake.connector import SnowflakeConnection


_TYPES = {
    "boolean": "BOOLEAN", "int": "NUMBER(10,0)", "long": "NUMBER(19,0)", "float": "FLOAT",
    "double": "FLOAT", "date": "DATE", "time": "TIME(6)", "timestamp": "TIMESTAMP_NTZ(6)",
    "timestamptz": "TIMESTAMP_LTZ(6)", "timestamp_ns": "TIMESTAMP_NTZ(9)",
    "timestamptz_ns": "TIMESTAMP_LTZ(9)", "string": "VARCHAR", "binary": "BINARY",
    "uuid": "BINARY(16)", "variant": "VARIANT",
}  # fmt: skip
"""Iceberg's types as Snowflake shows them (docs.snowflake.com, "Data types for Iceberg tables")."""


class Snowflake:
    """The Iceberg table that Snowflake reads in place, through Glue, and the view beside it."""

    word: ClassVar[str] = "snowflake"
    check: ClassVar[str] = "snowflake_current"
    icon: ClassVar[str] = "iceberg"
    blocking: ClassVar[bool] = False
    maker = ""

    def __init__(self, spec: AnyTable, settings: Settings) -> None:
        self._settings, self._name, self._glue = settings, things(spec, settings).table, Glue(spec, settings)
        # Tableflow names tables as clusters and topics are called.
        schema, table = legal(self._name.namespace), legal(self._name.table)
        database = settings.snowflake.database.upper()
        self.table = Relation(database, schema.upper(), table.upper())
        self.view = Relation(database, self.table.schema, f"{self.table.name}{CLEAN.upper()}")
        self.path: AssetPath = (self.word, database.lower(), schema, table)
        self.upstream = self._glue.path  # that is where Snowflake looks
        self._spec, self._current = spec, spec if isinstance(spec, TableSpec) and spec.current_by else None
        current = Relation(database, self.table.schema, f"{self.table.name}{CURRENT.upper()}")
        self._comment, self._protection = comment_of(spec), Protection(spec, settings, self.table)
        self._views = (self.view, *((current,) if self._current else ()))
        self._rights = rights_to_read(self.table, self._views)
        self.relations = tuple(f"{r.database}.{r.schema}.{r.name}" for r in (self.table, *self._views))
        self.about = (
            f"Snowflake's Iceberg table `{'.'.join(self.path[1:])}`, read in place. Materializing it makes "
            "external volume, catalog integration, table and view where they are missing, and refreshes the "
            "table to what Glue says."
        )

    @property
    def page(self) -> str | None:
        """See `Target`."""
        own = self._settings.snowflake
        account = re.fullmatch(r"([A-Za-z0-9]+)-([A-Za-z0-9_-]+)", own.account or "")
        if own.host or not account:
            return None
        database, schema, name = (quote(part.upper(), safe="") for part in self.path[1:])
        at = f"https://app.snowflake.com/{account[1]}/{account[2]}".lower()
        return f"{at}/#/data/databases/{database}/schemas/{schema}/table/{name}"

    def column_type(self, kind: IcebergType) -> str:
        """See `Target`."""
        from pyiceberg import types as t

        match kind:
            case t.StructType():
                fields = ", ".join(f"{f.name} {self.column_type(f.field_type)}" for f in kind.fields)
                return f"OBJECT({fields})"
            case t.ListType():
                return f"ARRAY({self.column_type(kind.element_type)})"
            case t.MapType():
                return f"MAP({self.column_type(kind.key_type)}, {self.column_type(kind.value_type)})"
            case t.DecimalType():
                return f"NUMBER({kind.precision},{kind.scale})"
            case t.FixedType():
                return f"BINARY({len(kind)})"
            case _:
                return _TYPES.get(str(kind), str(kind).upper())

    def sync(self, connections: Connections) -> Shown:
        """See `Target`; the clean view is kept in step with the table."""
        with catalog_errors(self._settings):
            table = TableHandle(connections.catalog, self._name).load()
        current = table.metadata_location
        check_location(volume_of(self._settings), current)
        self._protection.check(field.name for field in table.schema().fields)
        with self._open(connections) as connection:
            before = self._location(connection)
            if before is None:
                self._make(connection)
            # Before newer rows are shown: a policy, of a column or of a tag, hides values of these, too.
            whole = self._protection.keep(connection)
            if before not in (None, current):
                refresh(connection, self.table)
                if not whole:  # columns that came with it
                    self._protection.keep(connection)
            self._keep_view(connection)
            self._keep_current(connection, changed=before != current)
            if self._comment:
                keep_comments(connection, self._views, self._comment)
            keep_reading(connection, self._rights, self._settings.snowflake.role)
            shown = before if before == current else self._location(connection)
            now = self._shown(connection, shown, changed=before != current, made_now=before is None)
        is_new = now.metadata_location == current != before
        return replace(now, waited=waited(table, before, time.time()) if is_new else None)

    def read(self, connections: Connections) -> Shown | None:
        """See `Target`."""
        with self._open(connections) as connection:
            location = self._location(connection)
            return None if location is None else self._shown(connection, location)

    def read_by(
        self, connection: SnowflakeConnection, *, counts: bool = False, rights: RoleRights = None
    ) -> Shown | None:
        """The same by an open session, with the columns of the clean view.

        Args:
            connection: That session.
            counts: Whether its rows are counted.
            rights: What the role that should read holds.
        """
        with connection_errors(self._settings), statement_errors(str(self.table)):
            location = self._location(connection)
            if location is None:
                return None
            seen = columns_or_none(connection, self.view) or ()
            comments = comments_of(connection, self._views) if self._comment else {}
            protected = self._protection.read(connection)
            counted = self._count(connection) if counts else None
        columns = tuple(Column(name) for name, _ in seen)
        wanted = self._comment or self._protection.labels
        labels = {**as_labels(comments), **protected.labels} if wanted else None
        lacks = tuple(map(str, lacking(self._rights, rights)))
        return Shown(
            self.path, self.upstream, self.relations[0], location, False, counted,
            columns=columns, labels=labels, lacks=lacks, unmasked=protected.policies,
        )  # fmt: skip

    def columns(self, table: Table) -> tuple[Column, ...]:
        """See `Target`: those of the clean view. Types are the metadata's."""
        names = [field.name for field in table.schema().fields]
        return tuple(map(Column, clean_columns(self._spec, names)))

    def labels(self) -> Labels:
        """See `Target`: the comments of the views, and the tags of table and columns."""
        comments = {view.name: self._comment for view in self._views} if self._comment else {}
        return {**as_labels(comments), **self._protection.labels}

    def drop(self, connections: Connections) -> None:
        """See `Target`; the views go first."""
        with self._open(connections) as connection:
            for view in reversed(self._views):
                rows(connection, f"DROP VIEW IF EXISTS {view}")
            rows(connection, f"DROP ICEBERG TABLE IF EXISTS {self.table}")

    @contextmanager
    def _open(self, connections: Connections) -> Iterator[SnowflakeConnection]:
        with (
            connection_errors(self._settings),
            connections.snowflake() as connection,
            statement_errors(str(self.table)),
        ):
            yield connection

    def _make(self, connection: SnowflakeConnection) -> None:
        table, glue = self.table, self._glue.database
        volume, integration = volume_of(self._settings), integration_of(self._settings, glue)
        make_schema(connection, table)
        make_volume(connection, volume)
        make_integration(connection, integration)
        rows(connection, statements.create_table(table, volume, integration, glue, self._name.table))

    def _keep_view(self, connection: SnowflakeConnection) -> None:
        columns = columns_of(connection, self.table)
        names = [name for name, _ in columns]
        own = set(clean_columns(self._spec, names))
        if columns_or_none(connection, self.view) != tuple(each for each in columns if each[0] in own):
            query = clean_sql(self._spec, str(self.table), names, double_quoted)
            rows(connection, statements.create_view_as(self.view, query))

    def _keep_current(self, connection: SnowflakeConnection, *, changed: bool) -> None:
        """Columns do not tell which key a view has: its query is compared.

        It is replaced where that differs, and only there: tags and masking policies go with a view.
        """
        for view in self._views[1:]:
            if self._current and (changed or columns_or_none(connection, view) is None):
                columns = columns_of(connection, self.table)
                query = current_sql(
                    self._current, str(self.table), [name for name, _ in columns], double_quoted
                )
                if not view_text(connection, view).endswith(query):
                    rows(connection, statements.create_view_as(view, query))

    def _location(self, connection: SnowflakeConnection) -> str | None:
        """The metadata file that Snowflake shows; None where it has no such table."""
        answer = rows_or_none(connection, statements.table_information(self.table))
        return json.loads(answer[0][0])["metadataLocation"] if answer else None

    def _shown(
        self,
        connection: SnowflakeConnection,
        location: str | None,
        *,
        changed: bool = False,
        made_now: bool = False,
    ) -> Shown:
        name, view, *_ = self.relations
        return Shown(
            self.path,
            self.upstream,
            name,
            location or "",
            changed,
            rows=self._count(connection),
            facts={"view": view, "made_now": made_now},
        )

    def _count(self, connection: SnowflakeConnection) -> int:
        return int(rows(connection, f"SELECT COUNT(*) FROM {self.table}")[0][0])
