"""Publishing: one commit that makes a landing visible on `main`, or finds that it was overtaken.

The commit is bound to the head whose position was just read (`AssertRefSnapshotId`). PyIceberg's own
retry is off: it would append again without looking at the position.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from frazil.catalogs.commits import TRIES, heads, through
from frazil.catalogs.iceberg import load_table
from frazil.errors import CommitConflictError, OvertakenError
from frazil.landing.position import Ledger, ancestors, ledger_of, read_ledger
from frazil.naming import TableName

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

__all__ = ["SUSPENDED", "Published", "Staged", "publish", "staged_files"]

SUSPENDED = "frazil.suspended"
"""Table property that says why a table is suspended; gone with the next landing."""

_LOOK_BACK = 100
"""Snapshots that others may have added since a commit of ours whose answer was lost."""


@dataclass(frozen=True, slots=True)
class Published:
    """What became visible.

    Args:
        snapshot_id: The new snapshot.
        conflicts: How often it was tried again on a new head.
    """

    snapshot_id: int
    conflicts: int = 0


@dataclass(frozen=True)
class Staged:
    """A landing that is written and audited, but not visible.

    Args:
        files: The data files to append.
        ledger: What the snapshot will say, but for its totals.
        base: The position that the plan started from; None where the table had none.
        branch: Removed by the same commit; empty where there is none.
    """

    files: tuple[DataFile, ...]
    ledger: Ledger
    base: Mapping[int, int] | None
    branch: str = ""

    resumes: ClassVar[bool] = True
    """Whether a suspended table goes on with it."""

    def upon(self, name: TableName, table: Table) -> Ledger:
        """What the snapshot says where it follows the table's present head.

        Raises:
            OvertakenError: It must not follow it: the position is no longer the one planned from.
        """
        before = read_ledger(table.metadata)
        position = before.position if before else None
        if position != self.base:
            raise OvertakenError(
                f"Another landing of {name} was quicker; this one was dropped.",
                where=f"position now {position}, planned from {dict(self.base or {})}",
                meaning="Every record is in the table exactly once; nothing of this landing is visible.",
                todo="Nothing. Land again if more records wait.",
            )
        return self.ledger.following(before)


def staged_files(table: Table, snapshot: Snapshot) -> Iterable[DataFile]:
    """The data files that one snapshot added."""
    from pyiceberg.manifest import ManifestEntryStatus

    for manifest in snapshot.manifests(table.io):
        if manifest.added_snapshot_id == snapshot.snapshot_id:
            for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
                if entry.status == ManifestEntryStatus.ADDED:
                    yield entry.data_file


def publish(catalog: Catalog, name: TableName, staged: Staged) -> Published:
    """Appends the files to `main` with the ledger, and removes the branch, in one commit.

    Raises:
        OvertakenError: Another landing moved the position; this one is dropped.
        CommitConflictError: The catalog refused time and again though the position stood still.
    """
    for attempt, table in enumerate(heads(catalog, name)):
        if done := _published(table, staged):
            return Published(done, attempt)
        _same_layout(name, table, staged)
        if _commit(table, staged, staged.upon(name, table)):
            return Published(_published(load_table(catalog, name), staged) or 0, attempt)
    raise CommitConflictError(
        f"The catalog refused a landing of {name} {TRIES} times.",
        where=f"branch {staged.branch or 'none'}",
        meaning="Others commit to the table all the time; nothing of this landing is visible.",
        todo="Land again; make upkeep or other writers less eager if it lasts.",
    )


def _published(table: Table, staged: Staged) -> int | None:
    """The snapshot that holds this very landing, if an earlier try went through unnoticed."""
    for snapshot in islice(ancestors(table.metadata), _LOOK_BACK):
        if (ledger := ledger_of(snapshot)) and ledger.landing == staged.ledger.landing:
            return snapshot.snapshot_id
    return None


def _same_layout(name: TableName, table: Table, staged: Staged) -> None:
    """PyIceberg would note the files under partitions that they do not have."""
    if any(file.spec_id != table.spec().spec_id for file in staged.files):
        raise CommitConflictError(
            f"The partitions of {name} were changed while a landing was written.",
            where=f"branch {staged.branch or 'none'}",
            meaning="Nothing of this landing is visible.",
            todo="Land again.",
        )


def _commit(table: Table, staged: Staged, ledger: Ledger) -> bool:
    """One try; False where the catalog refused, or where it is not known what became of it."""
    from pyiceberg.table.update import RemoveSnapshotRefUpdate

    properties = ledger.properties()
    tx = table.transaction()
    tx.set_properties(properties)
    if staged.resumes and SUSPENDED in table.properties:
        tx.remove_properties(SUSPENDED)
    with tx.update_snapshot(snapshot_properties=properties).fast_append() as append:
        for file in staged.files:
            append.append_data_file(file)
    if staged.branch in table.metadata.refs:
        tx._apply((RemoveSnapshotRefUpdate(ref_name=staged.branch),))
    return through(tx.commit_transaction)
