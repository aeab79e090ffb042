"""Iceberg tables in Snowflake: made if missing, refreshed, read, with a clean view beside each."""

from __future__ import annotations

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
from frazil.publishing.snowflake.connection import (
    columns_or_none,
    connection_errors,
    rows,
    statement_errors,
)
from frazil.publishing.snowflake.governance.comments import (
    as_labels,
    comment_of,
    comments_of,
    keep_comments,
)
from frazil.publishing.snowflake.governance.grants import (
    RoleRights,
    keep_reading,
    lacking,
    rights_to_read,
)
from frazil.publishing.snowflake.governance.protection import Protection
from frazil.publishing.snowflake.linked import LinkedTable
from frazil.publishing.snowflake.sources import OwnTable, Source
from frazil.publishing.snowflake.views import KeptViews
from frazil.publishing.target import Shown
from frazil.publishing.views.queries import clean_columns
from frazil.settings.profile import Settings
from frazil.spec.names import AssetPath, TableName, legal, things
from frazil.spec.table import AnyTable
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

_ABOUT = (
    "Snowflake's Iceberg table `{}`, read in place. Materializing it makes external volume, catalog "
    "integration, table and view where they are missing, and refreshes the table to what Glue says."
)
_ABOUT_LINKED = (
    "The table in Snowflake's catalog-linked database, which finds and refreshes it by itself. Materializing "
    "it looks whether that goes on, and keeps the views beside it."
)


class Snowflake:
    """The Iceberg table that Snowflake reads in place, through Glue, and the view beside it."""

    word: ClassVar[str] = "snowflake"
    check: ClassVar[str] = "snowflake_current"
    icon: ClassVar[str] = "iceberg"
    blocking: ClassVar[bool] = False

    def __init__(self, spec: AnyTable, settings: Settings) -> None:
        self._spec, self._settings, self._name = spec, settings, things(spec, settings).table
        glue = Glue(spec, settings)
        self._source = source_of(settings, self._name, glue)
        self.table, self.maker = self._source.table, self._source.maker
        database, *inside = self.table.parts
        self.path: AssetPath = (self.word, database.lower(), *map(legal, inside))
        self.upstream = glue.path  # that is where Snowflake looks
        self._views = KeptViews(spec, settings, self._name, self.table, folds=self._source.folds)
        self._comment, self._protection = comment_of(spec), Protection(spec, settings, self.table)
        self._rights = rights_to_read(self.table, self._views.all)
        self.relations = tuple(f"{r.database}.{r.schema}.{r.name}" for r in (self.table, *self._views.all))
        self.about = _ABOUT_LINKED if self.maker else _ABOUT.format(".".join(self.path[1:]))

    @property
    def page(self) -> str | None:
        """See `Target`."""
        own = self._settings.snowflake
        account = re.fullmatch(r"([A-Za-z0-9]+)-([A-Za-z0-9_-]+)", own.account or "")
        if own.host or not account:
            return None
        database, schema, name = (quote(part, safe="") for part in self.table.parts)
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
        self._source.check(current)
        self._protection.check(field.name for field in table.schema().fields)
        with self._open(connections) as connection:
            before = self._source.location(connection)
            if before is None:
                self._source.make(connection)
            # Before newer rows are shown: a policy, of a column or of a tag, hides values of these, too.
            whole = self._protection.keep(connection)
            if before not in (None, current):
                self._source.refresh(connection)
                if not whole:  # columns that came with it
                    self._protection.keep(connection)
            self._views.keep(connection, changed=before != current)
            if self._comment:
                keep_comments(connection, self._views.all, self._comment)
            keep_reading(connection, self._rights, self._settings.snowflake.role)
            shown = before if before == current else self._source.location(connection)
            now = self._shown(connection, shown, changed=before != current, made_now=before is None)
        is_new = now.metadata_location == current != before
        return replace(now, waited=waited(table, before, time.time()) if is_new else None)

    def read(self, connections: Connections) -> Shown | None:
        """See `Target`."""
        with self._open(connections) as connection:
            location = self._source.location(connection)
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
            location = self._source.location(connection)
            if location is None:
                return None
            seen = columns_or_none(connection, self._views.clean) or ()
            comments = comments_of(connection, self._views.all) if self._comment else {}
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
        comments = {view.name: self._comment for view in self._views.all} if self._comment else {}
        return {**as_labels(comments), **self._protection.labels}

    def drop(self, connections: Connections) -> None:
        """See `Target`; the views go first."""
        with self._open(connections) as connection:
            for view in reversed(self._views.all):
                rows(connection, f"DROP VIEW IF EXISTS {view}")
            self._source.drop(connection)

    @contextmanager
    def _open(self, connections: Connections) -> Iterator[SnowflakeConnection]:
        with (
            connection_errors(self._settings),
            connections.snowflake() as connection,
            statement_errors(str(self.table)),
        ):
            yield connection

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


def source_of(settings: Settings, name: TableName, glue: Glue) -> Source:
    """How a table comes to Snowflake, as the settings say."""
    linked = settings.snowflake.linked_database
    return LinkedTable(linked, name, glue) if linked else OwnTable(settings, name, glue)
