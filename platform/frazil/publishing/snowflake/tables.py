"""Iceberg tables in Snowflake: made if missing, refreshed, read, with a clean view beside each."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import quote

from frazil.connections import Connections
from frazil.errors import FrazilError
from frazil.publishing.columns import Column, differences
from frazil.publishing.glue import Glue
from frazil.publishing.labels import Labels, label_differences
from frazil.publishing.pointer import metadata_shown, waited
from frazil.publishing.snowflake import statements
from frazil.publishing.snowflake.connection import (
    connection_errors,
    rows,
    spent_by,
    statement_errors,
)
from frazil.publishing.snowflake.governance.comments import (
    as_labels,
    comment_of,
    keep_comments,
)
from frazil.publishing.snowflake.governance.grants import (
    RoleRights,
    keep_reading,
    lacking,
    rights_to_read,
)
from frazil.publishing.snowflake.governance.protection import Protected, Protection
from frazil.publishing.snowflake.linked import source_of
from frazil.publishing.snowflake.looks import Look
from frazil.publishing.snowflake.sources import location_in
from frazil.publishing.snowflake.views.kept import KeptViews
from frazil.publishing.snowflake.views.typed import check_typed, typed_columns
from frazil.publishing.target import Fact, Shown
from frazil.publishing.views.queries import clean_columns
from frazil.settings.profile import Settings
from frazil.spec.names import AssetPath, legal, things
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

_WANTED, _ANOTHER = "the spec's query", "another query"
"""What people read of a view's query: where it is compared, its whole text would say less."""

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
        self.locations = self._source.locations
        database, *inside = self.table.parts
        self.path: AssetPath = (self.word, database.lower(), *map(legal, inside))
        self.upstream = glue.path  # that is where Snowflake looks
        self._views = KeptViews(spec, settings, self._name, self.table, folds=self._source.folds)
        self.views, self.compared = self._views.all, self._views.compared
        self.comment, self.protection = comment_of(spec), Protection(spec, settings, self.table)
        self._rights = rights_to_read(self.table, self.views)
        self.relations = tuple(f"{r.database}.{r.schema}.{r.name}" for r in (self.table, *self.views))
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

    def sync(self, connections: Connections, seen: Shown | None = None) -> Shown:
        """See `Target`; the clean view is kept in step with the table.

        Args:
            connections: To where it is.
            seen: What Snowflake shows, where somebody looked at many tables just now.
        """
        with catalog_errors(self._settings):
            table = TableHandle(connections.catalog, self._name).load()
        if seen and self._lacks_nothing_but_rows(table, seen):
            return self._moved_on(connections, table, seen)
        current = table.metadata_location
        self._source.check(current)
        self.protection.check(field.name for field in table.schema().fields)
        check_typed(self._spec, self._name, table.schema())
        with self._open(connections) as connection:
            begun = spent_by(connection)
            before = self._source.location(connection)
            self._bring(connection, before, current)
            self._views.keep(connection)
            if self.comment:
                keep_comments(connection, self.views, self.comment)
            keep_reading(connection, self._rights, self._settings.snowflake.role)
            shown = before if before == current else self._source.location(connection)
            now = self._shown(connection, shown, changed=before != current, made_now=before is None)
            spent = spent_by(connection) - begun
        is_new = now.metadata_location == current != before
        return replace(now, waited=waited(table, before, time.time()) if is_new else None, spent=spent)

    def _bring(self, connection: SnowflakeConnection, before: str | None, current: str) -> None:
        """Makes or refreshes the table, protected as the spec says."""
        if before is None:
            self._source.make(connection)
        # Before newer rows are shown: a policy, of a column or of a tag, hides values of these, too.
        whole = self.protection.keep(connection)
        if before not in (None, current):
            self._source.refresh(connection)
            if not whole:  # columns that came with it
                self.protection.keep(connection)

    def _lacks_nothing_but_rows(self, table: Table, seen: Shown) -> bool:
        """Whether at most the metadata that is shown is older, and its columns are those of now."""
        differing = (
            *differences(seen.columns, self.columns(table)),
            *label_differences(seen.labels, self.labels()),
            *seen.unmasked,
        )
        before = metadata_shown(table, seen.metadata_location)
        same = before is not None and before.current_schema_id == table.metadata.current_schema_id
        return same and not differing and seen.lacks == ()

    def _moved_on(self, connections: Connections, table: Table, seen: Shown) -> Shown:
        """Shows newer metadata with the same columns, in two statements; nothing is sent of what rests."""
        before = seen.metadata_location
        facts: dict[str, Fact] = {"view": self.relations[1], "made_now": False}
        if before == table.metadata_location:
            return replace(seen, facts=facts)
        self._source.check(table.metadata_location)
        with self._open(connections) as connection:
            begun = spent_by(connection)
            self._source.refresh(connection)
            location, rows = self._shown_and_counted(connection)
            spent = spent_by(connection) - begun
        new = location == table.metadata_location
        late = waited(table, before, time.time()) if new else None
        return replace(
            seen, metadata_location=location, changed=True, rows=rows, facts=facts, waited=late, spent=spent
        )

    def _shown_and_counted(self, connection: SnowflakeConnection) -> tuple[str, int]:
        from snowflake.connector.errors import ProgrammingError

        if self.maker is None:
            with suppress(ProgrammingError):  # one statement for both was not seen on the real one
                ((information, rows_),) = rows(connection, statements.shown_and_counted(self.table))
                return location_in(information), int(rows_)
        return self._source.location(connection) or "", self._count(connection)

    def read(self, connections: Connections) -> Shown | None:
        """See `Target`."""
        with self._open(connections) as connection:
            location = self._source.location(connection)
            return None if location is None else self._shown(connection, location)

    def shown_by(
        self, look: Look, protected: Protected, *, rights: RoleRights = None
    ) -> Shown | FrazilError | None:
        """The same by a look at many tables, with the columns of the clean view.

        Args:
            look: What Snowflake lists of this one and others.
            protected: How it is protected.
            rights: What the role that should read holds.
        """
        location, rows = look.locations.get(self.table), look.counts.get(self.table)
        if location is None or isinstance(location, FrazilError):
            return location
        if isinstance(rows, FrazilError):
            return rows
        seen, at = look.view_columns(self.views[0], self.table), look.refreshes.get(self.table)
        texts = {view.name: look.comments.get(view, "") for view in self.views} if self.comment else {}
        wanted = self.comment or self.protection.labels
        labels = {**as_labels(texts), **protected.labels} if wanted else None
        known = rights is not None or not self._settings.snowflake.role
        lacks = tuple(map(str, lacking(self._rights, rights))) if known else None
        return Shown(
            self.path, self.upstream, self.relations[0], location, False, rows,
            columns=(*map(Column, seen), *self._with_queries(look)), labels=labels, lacks=lacks,
            unmasked=protected.policies, refreshed=at if isinstance(at, int) else None,
        )  # fmt: skip

    def _with_queries(self, look: Look) -> tuple[Column, ...]:
        names = [name for name, _ in look.columns.get(self.table, ())]
        others = set(self._views.differing(look.texts, names)) if names else set()
        return tuple(
            Column(view.name, _ANOTHER if view in others else _WANTED, of="view")
            for view in self.compared
            if view in look.columns
        )

    def columns(self, table: Table) -> tuple[Column, ...]:
        """See `Target`: those of the clean view, and the views with a query. Types are the metadata's."""
        names = [field.name for field in table.schema().fields]
        own = (*clean_columns(self._spec, names), *typed_columns(self._spec, names))
        return (*map(Column, own), *(Column(view.name, _WANTED, of="view") for view in self.compared))

    def labels(self) -> Labels:
        """See `Target`: the comments of the views, and the tags of table and columns."""
        comments = {view.name: self.comment for view in self.views} if self.comment else {}
        return {**as_labels(comments), **self.protection.labels}

    def drop(self, connections: Connections) -> None:
        """See `Target`; the views go first."""
        with self._open(connections) as connection:
            for view in reversed(self.views):
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
