"""The present metadata of many tables, loaded only where it changed since somebody last looked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil.spec.names import TableName
from frazil.tables.catalog import is_outage, load_table_or_none
from frazil.tables.pyiceberg import answered_table, ask_for_head

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.catalog.glue import GlueCatalog
    from pyiceberg.catalog.rest import RestCatalog
    from pyiceberg.table import Table

__all__ = ["AT_ONCE", "Pointer", "load_pointers"]

AT_ONCE = 8
_LOCATION = re.compile(r'\s*\{\s*"metadata-location"\s*:\s*"([^"\\]+)"')


@dataclass(frozen=True)
class Pointer:
    """One table as the catalog has it.

    Args:
        name: Its name.
        location: Of its metadata; None where there is no such table, or where it could not be loaded.
        table: The table, if its metadata is not the one that is known already; of its snapshots it may
            have only those that a branch or a tag names.
        error: What kept it from being loaded.
    """

    name: TableName
    location: str | None = None
    table: Table | None = None
    error: Exception | None = None


def load_pointers(
    catalog: Catalog, names: Iterable[TableName], known: Mapping[TableName, str]
) -> Iterator[Pointer]:
    """The tables, in order.

    Glue tells the metadata's location of a hundred tables per request; a REST catalog tells it with
    the metadata, of which only the newest snapshots are asked for, and which is not parsed where the
    location is the one that is known.

    Args:
        catalog: Of either kind.
        names: The tables.
        known: Location of the metadata that was last seen of each.

    Raises:
        Exception: Nobody answers; what is wrong with one table only stands in its `Pointer`.
    """
    names = list(names)
    load = _loader(catalog, names)

    def pointer(name: TableName) -> Pointer:
        try:
            return load(name, known.get(name))
        except Exception as e:
            if is_outage(e):
                raise
            return Pointer(name, error=e)  # one broken table must not hide the others

    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="pointers") as pool:
        yield from pool.map(pointer, names)


def _loader(catalog: Catalog, names: list[TableName]) -> Callable[[TableName, str | None], Pointer]:
    from pyiceberg.catalog.glue import GlueCatalog
    from pyiceberg.catalog.rest import RestCatalog

    if isinstance(catalog, RestCatalog):
        return lambda name, known: _from_rest(catalog, name, known)
    if isinstance(catalog, GlueCatalog):
        locations = _glue_locations(catalog, {n.namespace for n in names})
        return lambda name, known: _from_glue(catalog, name, known, locations.get(name))
    return lambda name, _: _loaded(name, load_table_or_none(catalog, name))


def _from_rest(catalog: RestCatalog, name: TableName, known: str | None) -> Pointer:
    response = ask_for_head(catalog, name.identifier)
    if response.status_code != 200:
        return _loaded(name, load_table_or_none(catalog, name))  # knows what the refusal means
    first = _LOCATION.match(response.text)
    if known and first and first[1] == known:
        return Pointer(name, known)
    return _loaded(name, answered_table(catalog, name.identifier, response.text))


def _from_glue(catalog: Catalog, name: TableName, known: str | None, location: str | None) -> Pointer:
    if location is None:
        return Pointer(name)
    return Pointer(name, known) if location == known else _loaded(name, load_table_or_none(catalog, name))


def _loaded(name: TableName, table: Table | None) -> Pointer:
    return Pointer(name, table.metadata_location, table) if table else Pointer(name)


def _glue_locations(catalog: GlueCatalog, databases: Iterable[str]) -> dict[TableName, str]:
    found: dict[TableName, str] = {}
    for database in databases:
        for entry in _glue_tables(catalog, database):
            if location := entry.get("Parameters", {}).get("metadata_location"):
                found[TableName(database, entry["Name"])] = location
    return found


def _glue_tables(catalog: GlueCatalog, database: str) -> Iterator[dict[str, Any]]:
    try:
        for page in catalog.glue.get_paginator("get_tables").paginate(DatabaseName=database):
            yield from page["TableList"]
    except catalog.glue.exceptions.EntityNotFoundException:
        return
