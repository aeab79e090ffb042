"""Where each of many tables stands, at the least cost: its metadata's location, and what of it tells most.

A table with a thousand snapshots has 1.6 MB of metadata, which PyIceberg takes 30 ms to check. A REST catalog
is asked for the snapshots only that a branch names; and of what comes, columns, partitions and all snapshots
are left out that the reader of it does not need.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from frazil.spec.names import TableName
from frazil.tables.catalogs.catalog import answers, is_lost, is_outage
from frazil.tables.catalogs.handle import TableHandle, vouched
from frazil.tables.catalogs.pyiceberg import ask_for_table, read_metadata, storage_of

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.catalog.glue import GlueCatalog
    from pyiceberg.catalog.rest import RestCatalog
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata

AT_ONCE = 8
_FEW = 5  # of one database; Glue tells of a hundred tables per request

_LOCATION = re.compile(rb'\s*\{\s*"metadata-location"\s*:\s*"([^"\\]+)"')

Enough = Callable[[Mapping[str, str]], bool]
"""Whether a snapshot whose summary says this tells enough; else the one before it is looked at, too."""

_Trim = Callable[[dict[str, Any]], "TableMetadata"]

_Load = Callable[[TableName, str | None], "Pointer"]


@dataclass(frozen=True)
class Pointer:
    """One table as the catalog has it."""

    name: TableName
    # Of its metadata; None where there is no such table, or where it could not be loaded.
    location: str | None = None
    # None where its metadata is known already. It has no columns but those of now where they were asked for,
    # and no branch but `main`; the snapshots of that as far back as they were asked for.
    metadata: TableMetadata | None = None
    error: Exception | None = None


def load_pointers(
    catalog: Catalog,
    names: Iterable[TableName],
    known: Mapping[TableName, str],
    enough: Enough = lambda _: True,
    *,
    columns: bool = False,
) -> Iterator[Pointer]:
    """The tables, in order; `known` says where the metadata was that was last seen of each.

    Glue tells the metadata's location of a hundred tables per request; a REST catalog tells it with
    the metadata, which is not parsed where the location is the one that is known. A fault of one table stands
    in its `Pointer`. So does an outage; nobody is asked any more after it.
    """
    names = list(names)
    load = _loader(catalog, names, partial(_trimmed, enough=enough, columns=columns), enough)
    outages: list[Exception] = []

    def pointer(name: TableName) -> Pointer:
        if outages:
            return Pointer(name, error=outages[0])
        try:
            return _asked(TableHandle(catalog, name), load, known.get(name))
        except Exception as e:  # noqa: BLE001 - one broken table must not hide the others
            if is_outage(e):
                outages.append(e)
            return Pointer(name, error=e)

    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="pointers") as pool:
        yield from pool.map(pointer, names)


def table_of(pointer: Pointer, catalog: Catalog) -> Table:
    """The table of a pointer with metadata, for those who read only what that has of it."""
    from pyiceberg.table import Table

    assert pointer.metadata is not None
    assert pointer.location is not None
    storage = storage_of(catalog, pointer.location)
    return vouched(Table(pointer.name.identifier, pointer.metadata, pointer.location, storage, catalog))


def _asked(handle: TableHandle, load: _Load, known: str | None) -> Pointer:
    try:
        with answers():
            return load(handle.name, known)
    except Exception as e:
        if not is_lost(e):
            raise
    return _loaded(handle)  # asks again, and again


def _loader(catalog: Catalog, names: list[TableName], trimmed: _Trim, enough: Enough) -> _Load:
    from pyiceberg.catalog.rest import RestCatalog

    if isinstance(catalog, RestCatalog):
        return lambda name, known: _from_rest(catalog, name, known, trimmed, enough)
    from pyiceberg.catalog.glue import GlueCatalog  # imports boto3, which REST does not need

    if isinstance(catalog, GlueCatalog):
        locations = _glue_locations(catalog, names)
        return lambda name, known: _from_glue(catalog, name, known, locations.get(name), trimmed)
    return lambda name, _: _loaded(TableHandle(catalog, name))


def _from_rest(
    catalog: RestCatalog, name: TableName, known: str | None, trimmed: _Trim, enough: Enough
) -> Pointer:
    for snapshots in ("refs", "all"):
        response = ask_for_table(catalog, name.identifier, snapshots)
        if response.status_code != 200:
            return _loaded(TableHandle(catalog, name))  # knows what the refusal means
        first = _LOCATION.match(response.content)
        if known and first and first[1].decode() == known:
            return Pointer(name, known)
        response_body = json.loads(response.content)
        if snapshots == "all" or _line(response_body["metadata"], enough)[1]:
            break
    return Pointer(name, response_body["metadata-location"], trimmed(response_body["metadata"]))


def _from_glue(
    catalog: GlueCatalog, name: TableName, known: str | None, location: str | None, trimmed: _Trim
) -> Pointer:
    if location is None:
        return Pointer(name)
    if location == known:
        return Pointer(name, known)
    return Pointer(name, location, trimmed(json.loads(read_metadata(catalog, location))))


def _loaded(handle: TableHandle) -> Pointer:
    table = handle.load_or_none()
    return Pointer(handle.name, table.metadata_location, table.metadata) if table else Pointer(handle.name)


def _line(raw: Mapping[str, Any], enough: Enough) -> tuple[list[dict[str, Any]], bool]:
    """Snapshots of `main`, newest first, up to one that tells enough; also whether that is all it takes."""
    known = {snapshot["snapshot-id"]: snapshot for snapshot in raw.get("snapshots") or ()}
    main = (raw.get("refs") or {}).get("main") or {"snapshot-id": raw.get("current-snapshot-id")}
    at = main["snapshot-id"]
    line: list[dict[str, Any]] = []
    while snapshot := known.get(at):
        line.append(snapshot)
        if enough(snapshot.get("summary") or {}):
            return line, True
        at = snapshot.get("parent-snapshot-id")
    return line, not line


def _trimmed(raw: dict[str, Any], enough: Enough, *, columns: bool) -> TableMetadata:
    """Metadata without partitions and columns; with all snapshots where none of `main` tells enough."""
    from pyiceberg.table.metadata import TableMetadataUtil

    if raw["format-version"] == 1:  # what has to be there is another list
        return TableMetadataUtil.parse_obj(raw)
    line, only_line = _line(raw, enough)
    at = raw["current-schema-id"]
    own = [each for each in raw["schemas"] if columns and each["schema-id"] == at]
    left = {
        "schemas": own or [{"type": "struct", "schema-id": at, "fields": []}],
        "partition-specs": [{"spec-id": raw["default-spec-id"], "fields": []}],
        "sort-orders": [{"order-id": raw["default-sort-order-id"], "fields": []}],
        "snapshots": line if only_line else raw["snapshots"],
        "refs": {name: ref for name, ref in (raw.get("refs") or {}).items() if name == "main"},
        "snapshot-log": [],
        "metadata-log": [],
        "statistics": [],
        "partition-statistics": [],
    }
    return TableMetadataUtil.parse_obj({**raw, **left})


def _glue_locations(catalog: GlueCatalog, names: Iterable[TableName]) -> dict[TableName, str]:
    """The locations of tables that Glue has: asked for one by one where few are wanted of a database."""
    wanted: dict[str, list[TableName]] = defaultdict(list)
    for name in names:
        wanted[name.namespace].append(name)
    locations: dict[TableName, str] = {}
    for database, of in wanted.items():
        entries = _glue_database(catalog, database) if len(of) > _FEW else _glue_tables(catalog, of)
        for entry in entries:
            if location := entry.get("Parameters", {}).get("metadata_location"):
                locations[TableName(database, entry["Name"])] = location
    return locations


def _glue_tables(catalog: GlueCatalog, names: Iterable[TableName]) -> Iterator[dict[str, Any]]:
    for name in names:
        with suppress(catalog.glue.exceptions.EntityNotFoundException):
            yield catalog.glue.get_table(DatabaseName=name.namespace, Name=name.table)["Table"]


def _glue_database(catalog: GlueCatalog, database: str) -> Iterator[dict[str, Any]]:
    with suppress(catalog.glue.exceptions.EntityNotFoundException):
        for page in catalog.glue.get_paginator("get_tables").paginate(DatabaseName=database):
            yield from page["TableList"]
