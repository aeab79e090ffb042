"""The views that a REST catalog holds of one table: found, made, replaced and removed, Frazil's own only."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from frazil.errors import CommitConflictError, ConfigureError, DifferentError
from frazil.publishing.views.wanted import WantedView
from frazil.spec.names import TableName
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.catalogs.pyiceberg import replace_view

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.view import View
    from pyiceberg.view.metadata import ViewVersion

_OF = "frazil.view-of"
"""Property of a view: the table that Frazil made it for. No other view is ever touched."""

_COLUMNS = "frazil.table-columns"
"""Property of a view: the fingerprint of the columns that its table had."""

_MAY_DROP = "replace.drop-dialect.allowed"
"""Iceberg's own property: without it no version may lack a dialect that the one before it has."""

_MEANING = "The Iceberg table is right; this view is as it was before."


class HeldViews:
    """The views of one table in the catalog that owns it."""

    def __init__(self, handle: TableHandle) -> None:
        self._catalog, self._table = handle.catalog, handle.name

    def own(self) -> dict[str, View]:
        """Those that Frazil made, by name; none in a catalog without views."""
        names = [name for name in sorted(self._listed()) if name.startswith(f"{self._table.table}_")]
        loaded = {name: self._load(name) for name in names}
        return {name: v for name, v in loaded.items() if v is not None and self._is_own(v)}

    def keep(self, wanted: WantedView, schema: Schema, columns: str) -> None:
        """Makes a view, or replaces it.

        Raises:
            ConfigureError: The catalog holds no views.
            DifferentError: Somebody else's view, or a table, has its name.
            CommitConflictError: Somebody else made or replaced it in between.
        """
        from pyiceberg.exceptions import CommitFailedException, RESTError, ViewAlreadyExistsError

        properties = {
            _OF: str(self._table), _COLUMNS: columns, "comment": wanted.comment, _MAY_DROP: "true",
        }  # fmt: skip
        try:
            view = self._load(wanted.name)
            if view is None:
                self._make(wanted, schema, properties)
            else:
                self._replace(view, wanted, schema, properties)
        except (CommitFailedException, ViewAlreadyExistsError) as e:
            raise self._overtaken(wanted.name) from e
        except (RESTError, NotImplementedError) as e:
            if type(e) in (RESTError, NotImplementedError):  # 404, 405, 501: no words for what it refuses
                raise _no_views(str(e)) from e
            raise

    def drop(self, name: str) -> None:
        """Removes a view of Frazil's, if it is there."""
        from pyiceberg.exceptions import NoSuchViewError

        with suppress(NoSuchViewError):
            self._catalog.drop_view((self._table.namespace, name))

    def _listed(self) -> list[str]:
        from pyiceberg.exceptions import BadRequestError, NoSuchNamespaceError, RESTError

        try:
            return [name for *_, name in self._catalog.list_views(self._table.namespace)]
        except (NoSuchNamespaceError, NotImplementedError):
            return []
        except RESTError as e:
            if type(e) in (RESTError, BadRequestError):  # 405, 400: no words for what it does not know
                return []
            raise

    def _load(self, name: str) -> View | None:
        from pyiceberg.exceptions import NoSuchViewError

        with suppress(NoSuchViewError):
            return self._catalog.load_view((self._table.namespace, name))
        return None

    def _is_own(self, view: View) -> bool:
        return view.properties.get(_OF) == str(self._table)

    def _make(self, wanted: WantedView, schema: Schema, properties: Mapping[str, str]) -> None:
        from pyiceberg.schema import assign_fresh_schema_ids

        name = TableName(self._table.namespace, wanted.name)
        if TableHandle(self._catalog, name).load_or_none() is not None:
            raise _taken(name, "a table")
        fresh = assign_fresh_schema_ids(schema)
        version = _version(wanted, self._table, fresh.schema_id)
        made = self._catalog.create_view(name.identifier, fresh, version, properties=dict(properties))
        if not self._is_own(made):  # a catalog may answer with the view that somebody made just now
            raise _taken(name, "a view of somebody else's")

    def _replace(self, view: View, wanted: WantedView, schema: Schema, properties: Mapping[str, str]) -> None:
        name = TableName(self._table.namespace, wanted.name)
        if not self._is_own(view):
            raise _taken(name, "a view of somebody else's")
        known = next((each.schema_id for each in view.metadata.schemas if same(each, schema)), None)
        version = _version(wanted, self._table, -1 if known is None else known)
        newest = max(each.version_id for each in view.versions)
        numbered = version.model_copy(update={"version_id": newest + 1})
        added = (
            [] if known is not None else [{"action": "add-schema", "schema": _json(_numbered(schema, view))}]
        )
        updates: list[dict[str, Any]] = [
            *added,
            {"action": "set-properties", "updates": dict(properties)},
            {"action": "add-view-version", "view-version": _json(numbered)},
            {"action": "set-current-view-version", "view-version-id": -1},
        ]
        required = [{"type": "assert-view-uuid", "uuid": view.metadata.view_uuid}]
        replace_view(self._catalog, name.identifier, {"requirements": required, "updates": updates})

    def _overtaken(self, name: str) -> CommitConflictError:
        return CommitConflictError(
            f"Somebody else changed the view {self._table.namespace}.{name} just now.",
            meaning=_MEANING,
            todo=f"`frazil sync {self._table}` tries again.",
        )


def is_as(view: View, wanted: WantedView, columns: str) -> bool:
    """Whether a view is as it should be; a user's own as long as neither its text nor the table changed."""
    if queries_of(view) != wanted.queries or view.properties.get("comment") != wanted.comment:
        return False
    if wanted.schema is None:
        return view.properties.get(_COLUMNS) == columns
    return same(view.schema(), wanted.schema)


def queries_of(view: View) -> dict[str, str]:
    """The query of a view, by dialect."""
    return {each.root.dialect: each.root.sql for each in view.current_version().representations}


def same(one: Schema, other: Schema) -> bool:
    """Whether two schemas have the same columns, whatever their ids."""
    from pyiceberg.schema import assign_fresh_schema_ids

    return bool(assign_fresh_schema_ids(one).as_struct() == assign_fresh_schema_ids(other).as_struct())


def _version(wanted: WantedView, table: TableName, schema_id: int) -> ViewVersion:
    from pyiceberg.view.metadata import SQLViewRepresentation, ViewRepresentation, ViewVersion

    texts = [
        ViewRepresentation(SQLViewRepresentation(type="sql", sql=sql, dialect=dialect))
        for dialect, sql in wanted.queries.items()
    ]
    now = int(time.time() * 1000)
    return ViewVersion(
        version_id=1,
        schema_id=schema_id,
        timestamp_ms=now,
        # No two are the same: a catalog gives an earlier version for one that is.
        summary={"engine-name": "frazil", "frazil.at": str(now)},
        representations=texts,
        default_namespace=(table.namespace,),
    )


def _numbered(schema: Schema, view: View) -> Schema:
    from pyiceberg.schema import Schema, assign_fresh_schema_ids

    newest = max(each.schema_id for each in view.metadata.schemas)
    return Schema(*assign_fresh_schema_ids(schema).fields, schema_id=newest + 1)


def _json(part: Any) -> dict[str, Any]:
    written: dict[str, Any] = part.model_dump(mode="json", by_alias=True, exclude_none=True)
    return written


def _taken(name: TableName, what: str) -> DifferentError:
    return DifferentError(
        f"{what.capitalize()} is called {name}, as a view of Frazil's would be.",
        meaning="Nothing of it was touched, and the view was not made.",
        todo="Rename or drop it, or leave the view out of the spec.",
    )


def _no_views(answer: str) -> ConfigureError:
    return ConfigureError(
        "The Iceberg catalog holds no views.",
        where=f"{answer:.300}",
        meaning="The Iceberg table is right; no view was made.",
        todo="Take `views` out of `publish`; Snowflake has views of its own.",
    )
