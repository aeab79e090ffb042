"""Orphan files: what lies under a table's location though no snapshot names it."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.errors import RepairError
from frazil.spec.names import TableName
from frazil.spec.table import AnyTable
from frazil.tables.catalogs.handle import TableHandle, handle_of, name_of
from frazil.tables.commits.leftovers import branches_of_works
from frazil.tables.metadata.stored import StoredFile
from frazil.upkeep.expiry.references import References, references_of
from frazil.upkeep.kind import AS_USUAL, Kind, Known, Order, Reason, since
from frazil.upkeep.storage import (
    delete_files,
    kept_tables,
    key_of,
    list_files,
    may_delete_files,
    named_keys,
    read_present,
)
from frazil.upkeep.work import WorkReport, size_text

if TYPE_CHECKING:
    from pyiceberg.table import Table


_CLOCKS = 300.0  # seconds by which the clocks of the storage and of those who land may differ

_NAMED = 5


@dataclass(frozen=True, slots=True)
class _Listing:
    """What lies under one table's location, and what of it nobody needs."""

    table: Table
    listed: int
    orphans: tuple[StoredFile, ...]


class Orphans(Kind):
    """Files that no snapshot names are deleted once they are old."""

    name, step, at_once = "orphans", "remove_orphans", 4
    about = "Deletes files below the table's location that no snapshot names."

    def run(self, spec: AnyTable, connections: Connections, now: float, order: Order) -> WorkReport:
        """See `Kind.run`."""
        return remove_orphans(spec, connections, now, order)

    def why_due(self, known: Known, now: float) -> Reason | None:
        """See `Kind.why_due`."""
        facts, history, upkeep = known.facts, known.history, known.spec.upkeep
        last, age = facts.last.get(self.name), known.age(self, now)
        if not known.is_over(self, upkeep.orphans_every, now):
            return None
        if last and last.snapshot_id == facts.head:
            return None
        oldest = history.oldest if history else None
        lived = 0.0 if oldest is None else now - oldest
        if last is None and lived < upkeep.orphans_after.total_seconds():
            return None  # too young a table to have a file that is old enough
        text = f"commits came since the last look: {since('look', age, upkeep.orphans_every)}."
        return Reason(text, {"seconds_since": round(min(age, lived), 3)})


def remove_orphans(
    spec: AnyTable, connections: Connections, now: float, order: Order = AS_USUAL
) -> WorkReport:
    """Deletes files of a table, and of its dead letters, that no snapshot names and nobody is writing.

    Nothing is deleted where metadata can't be read (RepairError).
    """
    handle = handle_of(spec, connections)
    listed = {each: list(list_files(t)) for each, t in kept_tables(handle).items()}
    # Only now: what was committed since the listing is known, and who was writing then still has a branch.
    tables = kept_tables(handle)
    newest = min(now - spec.upkeep.orphans_after.total_seconds(), *map(_begun, tables.values()))

    def look(each: TableName) -> _Listing:
        readers = references_of(spec, connections, tables[each], now)
        old = [file for file in listed[each] if file.modified < min(newest, now - readers.longest)]
        return _find(connections, tables[each], listed[each], old, readers)

    listings = [look(each) for each in listed if may_delete_files(tables[each])]
    if not order.dry_run:
        for each_table in listings:
            delete_files(each_table.table.io, (file.path for file in each_table.orphans))
    return _report(handle.name, listings, order)


def _begun(table: Table) -> float:
    """When the oldest work began that may still be writing files; files since then are not looked at."""
    return min(branches_of_works(table.metadata).values(), default=float("inf")) - _CLOCKS


def _find(
    connections: Connections,
    table: Table,
    listed: Sequence[StoredFile],
    old: Sequence[StoredFile],
    readers: References,
) -> _Listing:
    """The orphans of one table: of the old files those that it does not name, and no reader is shown."""
    name = name_of(table)
    named = _named(connections, name, readers) if old else set()
    orphans = tuple(file for file in old if key_of(file.path) not in named)
    _refuse_other_spellings(name, orphans, named - {key_of(file.path) for file in listed})
    return _Listing(table, len(listed), orphans)


def _refuse_other_spellings(name: TableName, orphans: Sequence[StoredFile], missing: Set[str]) -> None:
    """A file that is named and not listed may be listed by another path; Iceberg's file names are unique."""
    elsewhere = {key.rpartition("/")[2]: key for key in missing}
    for file in orphans:
        if named := elsewhere.get(file.path.rpartition("/")[2]):
            raise RepairError(
                f"Table {name} names a file by another path than the one it is stored under.",
                where=f"named {named}, stored as {file.path}",
                meaning="The two may be the same file, so that it is no orphan; no file was deleted.",
                todo="If both are one file: let `write.data.path` begin with the table's location, or drop "
                f"it; `frazil compact {name} --everything` rewrites the files, and once the older "
                "snapshots expired it goes on. If they are two files, delete the one that the table does not "
                "name.",
            )


def _named(connections: Connections, name: TableName, readers: References) -> set[str]:
    """Keys of the files that the table names, and of those that readers are shown."""
    meaning = "Some of its snapshots can't be read; nothing was deleted."

    def read(table: Table) -> set[str]:
        return named_keys(table, readers.heads) | set(map(key_of, readers.locations))

    return read_present(TableHandle(connections.catalog, name), read, meaning)


def _report(name: TableName, listings: Sequence[_Listing], order: Order) -> WorkReport:
    orphans = [file for each in listings for file in each.orphans]
    numbers = {
        "files": len(orphans),
        "bytes": sum(file.bytes for file in orphans),
        "listed": sum(each.listed for each in listings),
    }
    text = _text(orphans, numbers, order.dry_run) + order.why
    return WorkReport(str(name), "orphans", bool(orphans), text, numbers=numbers, dry_run=order.dry_run)


def _text(orphans: Sequence[StoredFile], numbers: dict[str, int], dry_run: bool) -> str:
    if not orphans:
        return f"None of {numbers['listed']:,} files is an orphan that is old enough."
    named = ", ".join(file.path.rpartition("/")[2] for file in orphans[:_NAMED])
    more = f" and {len(orphans) - _NAMED:,} more" if len(orphans) > _NAMED else ""
    verb, size = "Would delete" if dry_run else "Deleted", size_text(numbers["bytes"])
    count = f"{len(orphans):,} of {numbers['listed']:,} files ({size})"
    return f"{verb} {count} that no snapshot names: {named}{more}."
