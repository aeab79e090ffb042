"""What a table's metadata tells without its manifests: the facts of its head, and its history.

Facts need no snapshot but the head, which is all that a REST catalog is asked for at each look: a table
with a thousand snapshots has 1.3 MB of metadata, of which they are 12 kB.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from frazil.spec.names import TableName
from frazil.tables.catalog import is_outage, load_table_or_none
from frazil.tables.pyiceberg import answered_table, ask_for_head
from frazil.tables.snapshots import ancestors, summary_of
from frazil.upkeep.compaction.plan import Copies, read_copies
from frazil.upkeep.work import SUMMARY, LastWork, last_works, only_upkeep_since

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.catalog.glue import GlueCatalog
    from pyiceberg.catalog.rest import RestCatalog
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

_COMPACTION = "compaction"


@dataclass(frozen=True, slots=True)
class Facts:
    """One table at a glance.

    `files`, `bytes` and `delete_files` are None where the summary lacks them, as with some writers;
    only the manifests tell them then.
    """

    head: int | None  # snapshot of `main`; None where there is none
    commits: int | None  # how many snapshots there ever were, those of branches too; None before format 2
    files: int | None
    bytes: int | None
    delete_files: int | None
    last: Mapping[str, LastWork]


@dataclass(frozen=True, slots=True)
class History:
    """What the snapshots tell together."""

    head: int | None  # the head that it was read at
    snapshots: int
    oldest: float | None  # when the oldest snapshot was made, in seconds since the epoch
    compacted_to: int = 0  # sequence number of the newest compaction, which left the files up to there
    quiet: bool = False  # nothing but compaction happened since the last one, and that one got nowhere
    copies: Copies = field(default_factory=Copies)  # what the snapshots hold and the head does not


def read_facts(metadata: TableMetadata) -> Facts:
    """The facts of a table, whoever wrote it."""
    head = metadata.current_snapshot()
    return Facts(
        head=head.snapshot_id if head else None,
        commits=getattr(metadata, "last_sequence_number", None),
        files=_number(head, "total-data-files"),
        bytes=_number(head, "total-files-size"),
        delete_files=_number(head, "total-delete-files"),
        last=last_works(metadata),
    )


def read_history(metadata: TableMetadata) -> History:
    """The history of a table; its metadata must have all snapshots."""
    compaction = next((s for s in ancestors(metadata) if summary_of(s).get(SUMMARY) == _COMPACTION), None)
    times = [s.timestamp_ms for s in metadata.snapshots]
    return History(
        head=metadata.current_snapshot_id,
        snapshots=len(times),
        oldest=min(times) / 1000 if times else None,
        compacted_to=(compaction.sequence_number or 0) if compaction else 0,
        quiet=_is_quiet(metadata, compaction),
        copies=read_copies(metadata),
    )


def _is_quiet(metadata: TableMetadata, compaction: Snapshot | None) -> bool:
    """Whether another compaction would find what the last one left, and that one got nowhere.

    One that was bounded in bytes saved files, and there may be more to save. One that did nothing may
    have had to spare old copies, of which some expired since.
    """
    works = last_works(metadata)
    last, expiry = works.get(_COMPACTION), works.get("expiry")
    if last is None or not only_upkeep_since(metadata, last.snapshot_id, [_COMPACTION]):
        return False
    saved = _number(compaction, "deleted-data-files") or 0
    made = _number(compaction, "added-data-files") or 0
    if compaction is None or compaction.snapshot_id != last.snapshot_id:
        return expiry is None or expiry.at < last.at
    return made >= saved


def _number(snapshot: Snapshot | None, name: str) -> int | None:
    text = summary_of(snapshot).get(name)
    return int(text) if text is not None and text.isdigit() else None


AT_ONCE = 8
_LOCATION = re.compile(r'\s*\{\s*"metadata-location"\s*:\s*"([^"\\]+)"')


@dataclass(frozen=True)
class Pointer:
    """One table as the catalog has it."""

    name: TableName
    # Of its metadata; None where there is no such table, or where it could not be loaded.
    location: str | None = None
    # None where its metadata is known already; it may have only the snapshots that a branch or a tag names.
    table: Table | None = None
    error: Exception | None = None


def load_pointers(
    catalog: Catalog, names: Iterable[TableName], known: Mapping[TableName, str]
) -> Iterator[Pointer]:
    """The tables, in order; `known` says where the metadata was that was last seen of each.

    Glue tells the metadata's location of a hundred tables per request; a REST catalog tells it with
    the metadata, of which only the newest snapshots are asked for, and which is not parsed where the
    location is the one that is known. A fault of one table stands in its `Pointer`.
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
