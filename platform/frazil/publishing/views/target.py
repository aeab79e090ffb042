"""The views of a table in the REST catalog, as a target: they follow its columns and its spec."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from frazil.connections import Connections
from frazil.publishing.columns import Column
from frazil.publishing.labels import Labels
from frazil.publishing.target import Maker, Shown
from frazil.publishing.views.held import HeldViews, is_as, queries_of
from frazil.publishing.views.wanted import fingerprint, schema_of, view_names, wanted_views
from frazil.settings.profile import Settings
from frazil.spec.names import AssetPath, things
from frazil.spec.table import AnyTable
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import TableHandle

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table
    from pyiceberg.types import IcebergType
    from pyiceberg.view import View

_VIEW = "view"


class Views:
    """The Iceberg views of one table."""

    word: ClassVar[str] = "views"
    check: ClassVar[str] = "views_current"
    icon: ClassVar[str] = "iceberg"
    blocking: ClassVar[bool] = False
    maker: Maker | None = None

    def __init__(self, spec: AnyTable, settings: Settings) -> None:
        self._spec, self._settings, self._table = spec, settings, things(spec, settings).table
        self.path: AssetPath = (self.word, *self._table.identifier)
        self.upstream: AssetPath = ("iceberg", *self._table.identifier)
        self._names = view_names(spec, self._table)
        self.relations = tuple(f"{self._table.namespace}.{name}" for name in self._names)
        self.about = (
            f"Views of `{self._table}` in the REST catalog: {', '.join(self._names)}. Materializing them "
            "makes what is missing, follows the table's columns and the spec, and removes what that names no "
            "more."
        )

    @property
    def page(self) -> str | None:
        """See `Target`."""
        return None

    def column_type(self, kind: IcebergType) -> str:
        """See `Target`; a view has the types of its table."""
        return str(kind)

    def columns(self, table: Table) -> tuple[Column, ...]:
        """See `Target`: each view with its query, and its columns."""
        wanted = wanted_views(self._spec, table, self._settings)
        return tuple(
            column
            for view in wanted
            for column in _listed(view.name, view.queries, view.schema)
        )  # fmt: skip

    def labels(self) -> Labels:
        """See `Target`."""
        return {}

    def sync(self, connections: Connections) -> Shown:
        """See `Target`."""
        with catalog_errors(self._settings):
            handle = self._handle(connections)
            table, views = handle.load(), HeldViews(handle)
            own, columns = views.own(), fingerprint(table)
            left, changed = set(own), False
            for wanted in wanted_views(self._spec, table, self._settings):
                left.discard(wanted.name)
                view = own.get(wanted.name)
                if view is None or not is_as(view, wanted, columns):
                    views.keep(wanted, schema_of(wanted, self._table, connections), columns)
                    changed = True
            for name in sorted(left):  # the spec names it no more
                views.drop(name)
                changed = True
            # Most publications change none: what was read is what is there.
            return self._shown(table, views.own() if changed else own, changed=changed)

    def read(self, connections: Connections) -> Shown | None:
        """See `Target`."""
        with catalog_errors(self._settings):
            own = HeldViews(self._handle(connections)).own()
            return self._shown(self._handle(connections).load_or_none(), own) if own else None

    def drop(self, connections: Connections) -> None:
        """See `Target`."""
        with catalog_errors(self._settings):
            views = HeldViews(self._handle(connections))
            for name in views.own():
                views.drop(name)

    def _handle(self, connections: Connections) -> TableHandle:
        return TableHandle(connections.catalog, self._table)

    def _shown(self, table: Table | None, own: dict[str, View], *, changed: bool = False) -> Shown:
        """A view shows what the table holds at any time."""
        files = {f"{self._table.table}_{name}" for name in self._spec.views}
        schemas = {name: None if name in files else view.schema() for name, view in own.items()}
        columns = tuple(
            column
            for name, view in own.items()
            for column in _listed(name, queries_of(view), schemas[name])
        )  # fmt: skip
        location = table.metadata_location if table is not None else ""
        facts = {"views": ", ".join(own)}
        name = self.relations[0]
        return Shown(self.path, self.upstream, name, location, changed, facts=facts, columns=columns)


def _listed(name: str, queries: Mapping[str, str], schema: Schema | None) -> Iterator[Column]:
    from pyiceberg.schema import assign_fresh_schema_ids

    for dialect, sql in queries.items():
        yield Column(f"{name} for {dialect}", sql, of=_VIEW)
    # Ids stand in the texts of types, and a view has its own.
    for field in assign_fresh_schema_ids(schema).fields if schema is not None else ():
        yield Column(f"{name}.{field.name}", str(field.field_type), field.doc or "")
