"""Files in the place of others on `main`: one commit with operation replace, bound to the head.

What is to be replaced is known by its manifests, and a manifest never changes: as long as the head
names them, all of its files are live. Where others wrote them anew, the files are looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from frazil.errors import CommitConflictError, OvertakenError
from frazil.spec.names import TableName
from frazil.tables.heads import TRIES, heads, through
from frazil.tables.manifests import Entries, Held, read_entries
from frazil.tables.snapshots import ancestors, summary_of

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.manifest import DataFile, ManifestEntry, ManifestFile
    from pyiceberg.table import Table

__all__ = ["Placed", "Replacement", "chosen", "overtaken", "put_in_place", "upon"]

_ID = "frazil.upkeep-id"
_LOOK_BACK = 100
"""Snapshots that others may have added since a commit of ours whose answer was lost."""

_PATH = 2147483546
"""Field id of the path in position delete files; Iceberg's specification reserves it."""


@dataclass(frozen=True)
class Replacement:
    """What is to be done to `main`.

    Args:
        id: Unique; tells a commit whose answer was lost from somebody else's.
        gone: Paths of the manifests that are no longer named.
        removed: Entries of the files that are replaced.
        kept: The other live entries of the manifests that are gone.
        added: Entries of the new files.
        known: Paths of all manifests of the head that was read.
        sequence: Sequence number of that head; the new files bear it, so that later deletes hold for them.
        branch: Removed by the same commit; empty where there is none.
        conflicts: How often the branch was refused, because others committed.
    """

    id: str
    gone: frozenset[str]
    removed: Entries = ()
    kept: Entries = ()
    added: Entries = ()
    known: frozenset[str] = frozenset()
    sequence: int = 0
    branch: str = ""
    conflicts: int = 0

    @property
    def paths(self) -> frozenset[str]:
        """Of the files that are replaced."""
        return frozenset(e.data_file.file_path for e in self.removed)


@dataclass(frozen=True, slots=True)
class Placed:
    """A replacement that is on `main`.

    Args:
        snapshot_id: The snapshot that it made.
        conflicts: How often the catalog refused, because others committed.
    """

    snapshot_id: int
    conflicts: int


def chosen(held: Held, paths: Iterable[str], branch: str, added: Iterable[ManifestEntry]) -> Replacement:
    """Other files for some of a head's.

    Args:
        held: The head.
        paths: The files that are replaced.
        branch: Where the new files are; also names the replacement.
        added: Entries of the new files.
    """
    old = frozenset(paths)
    gone = [p for p, entries in held.named.items() if any(e.data_file.file_path in old for e in entries)]
    entries = [e for path in gone for e in held.named[path]]
    return Replacement(
        id=branch,
        gone=frozenset(gone),
        removed=tuple(e for e in entries if e.data_file.file_path in old),
        kept=tuple(e for e in entries if e.data_file.file_path not in old),
        added=tuple(added),
        known=frozenset(m.manifest_path for m in held.manifests),
        sequence=held.head.sequence_number or 0,
        branch=branch,
    )


def put_in_place(
    catalog: Catalog, name: TableName, what: Callable[[Table], Replacement], says: Mapping[str, str]
) -> Placed:
    """Replaces files on `main` in one commit.

    Args:
        catalog: The catalog that owns the table.
        name: The table.
        what: What is to be done upon the table's present head; asked again after each conflict.
        says: What the snapshot's summary tells of it.

    Raises:
        OvertakenError: Raised by `what` where it can't be done any more.
        CommitConflictError: The catalog refused time and again.
    """
    tried = ""
    for conflicts, table in enumerate(heads(catalog, name)):
        if tried and (done := _placed(table, tried)):
            return Placed(done, conflicts)
        replacement = what(table)
        tried = replacement.id
        if snapshot_id := _commit(table, replacement, says):
            return Placed(snapshot_id, conflicts)
    raise CommitConflictError(
        f"The catalog refused a compaction of {name} {TRIES} times.",
        meaning="Others commit to the table all the time; the table is as they left it.",
        todo="Nothing: the upkeep sensor tries again; so does `frazil compact`.",
    )


def upon(table: Table, what: Replacement) -> Replacement:
    """The same replacement upon the present head of `main`.

    Raises:
        OvertakenError: A file that is to be replaced is no longer there, or lost rows since.
    """
    head = table.current_snapshot()
    manifests = head.manifests(table.io) if head else []
    _no_new_deletes(table, manifests, what)
    if what.gone <= {m.manifest_path for m in manifests}:
        return what
    return _found_again(table, manifests, what)


def _found_again(table: Table, manifests: Sequence[ManifestFile], what: Replacement) -> Replacement:
    """The files in the manifests that others wrote."""
    candidates = [m for m in manifests if _may_name(m, what)]
    old, paths = what.paths, (m.manifest_path for m in candidates)
    named = dict(zip(paths, read_entries(table.io, candidates), strict=True))
    hit = {p: entries for p, entries in named.items() if any(e.data_file.file_path in old for e in entries)}
    entries = [e for of_one in hit.values() for e in of_one]
    kept = tuple(e for e in entries if e.data_file.file_path not in old)
    if missing := len(old) - (len(entries) - len(kept)):
        raise overtaken(table, f"{missing} of {len(old)} files to be replaced are no longer there")
    return replace(what, gone=frozenset(hit), kept=kept)


def _may_name(manifest: ManifestFile, what: Replacement) -> bool:
    """Whether it may name a file that is to be replaced."""
    from pyiceberg.manifest import ManifestContent

    path = manifest.manifest_path
    moved = path not in what.known and manifest.has_existing_files()
    return manifest.content == ManifestContent.DATA and (path in what.gone or moved)


def _no_new_deletes(table: Table, manifests: Sequence[ManifestFile], what: Replacement) -> None:
    """Rows that were deleted by position since would come back; deletes by equality still hold."""
    from pyiceberg.manifest import DataFileContent, ManifestContent

    new = [m for m in manifests if m.content == ManifestContent.DELETES and m.manifest_path not in what.known]
    for entry in (e for entries in read_entries(table.io, new) for e in entries):
        later = (entry.sequence_number or 0) > what.sequence
        by_position = entry.data_file.content == DataFileContent.POSITION_DELETES
        if later and by_position and _may_hit(entry.data_file, what.paths):
            raise overtaken(table, "rows of the files to be replaced were deleted")


def _may_hit(deletes: DataFile, paths: frozenset[str]) -> bool:
    lower, upper = ((bounds or {}).get(_PATH) for bounds in (deletes.lower_bounds, deletes.upper_bounds))
    return not lower or not upper or any(lower <= path.encode() <= upper for path in paths)


def overtaken(table: Table, why: str) -> OvertakenError:
    """What is raised where a compaction must not be put in place any more."""
    return OvertakenError(
        f"A compaction was overtaken: {why}.",
        where=f"table {'.'.join(table.name())}",
        meaning="The table is as the others left it; nothing of this compaction is visible.",
        todo="Nothing: the next compaction takes the files that are there then.",
    )


def _placed(table: Table, replacement_id: str) -> int | None:
    """The snapshot of this very replacement, if an earlier try went through unnoticed."""
    for snapshot in islice(ancestors(table.metadata), _LOOK_BACK):
        if summary_of(snapshot).get(_ID) == replacement_id:
            return snapshot.snapshot_id
    return None


def _commit(table: Table, what: Replacement, says: Mapping[str, str]) -> int | None:
    """One try; None where the catalog refused, or where it is not known what became of it."""
    from pyiceberg.table.update import RemoveSnapshotRefUpdate

    from frazil.tables.replace import ReplaceFiles

    tx = table.transaction()
    snapshot = ReplaceFiles(tx, what, {**says, _ID: what.id})
    snapshot.commit()
    if what.branch in table.metadata.refs:
        tx._apply((RemoveSnapshotRefUpdate(ref_name=what.branch),))
    return snapshot.snapshot_id if through(tx.commit_transaction) else None
