"""Publishing: one commit that makes staged work visible on `main`, or finds that it was overtaken.

The commit is bound to the head whose position was just read (`AssertRefSnapshotId`). PyIceberg's own
retry is off: it would append again without looking at the position. Landings, redrives and derivations
all come through here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Protocol

from frazil.errors import CommitConflictError
from frazil.spec.names import TableName
from frazil.tables.catalog import load_table
from frazil.tables.commit import TRIES, heads, through
from frazil.tables.snapshots import ancestors

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table, Transaction
    from pyiceberg.table.snapshots import Snapshot

__all__ = ["SUSPENDED", "Entry", "Published", "Staged", "publish", "staged_files"]

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


class Entry(Protocol):
    """What a snapshot says of itself: a ledger."""

    def properties(self) -> dict[str, str]:
        """As summary properties; also as table properties."""
        ...


@dataclass(frozen=True)
class Staged(ABC):
    """Work that is written and audited, but not visible.

    Args:
        files: The data files that come.
        branch: Removed by the same commit; empty where there is none.
    """

    files: tuple[DataFile, ...]
    branch: str

    work: ClassVar[str] = "landing"
    resumes: ClassVar[bool] = True
    """Whether a suspended table goes on with it."""

    @abstractmethod
    def upon(self, name: TableName, table: Table) -> Entry:
        """What the snapshot says where it follows the table's present head.

        Raises:
            OvertakenError: It must not follow it: the position is no longer the one planned from.
        """

    @abstractmethod
    def made(self, snapshot: Snapshot) -> bool:
        """Whether a snapshot is this very work's."""

    def put(self, tx: Transaction, table: Table, said: Mapping[str, str]) -> None:
        """Adds the files to a commit; by default as an append."""
        with tx.update_snapshot(snapshot_properties=dict(said)).fast_append() as append:
            for file in self.files:
                append.append_data_file(file)


def staged_files(table: Table, snapshot: Snapshot) -> Iterable[DataFile]:
    """The data files that one snapshot added."""
    from pyiceberg.manifest import ManifestEntryStatus

    for manifest in snapshot.manifests(table.io):
        if manifest.added_snapshot_id == snapshot.snapshot_id:
            for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
                if entry.status == ManifestEntryStatus.ADDED:
                    yield entry.data_file


def publish(catalog: Catalog, name: TableName, staged: Staged) -> Published:
    """Puts the files on `main` with their ledger, and removes the branch, in one commit.

    Raises:
        OvertakenError: Others moved the position; this work is dropped.
        CommitConflictError: The catalog refused time and again though the position stood still.
    """
    for attempt, table in enumerate(heads(catalog, name)):
        if done := _published(table, staged):
            return Published(done, attempt)
        _same_layout(name, table, staged)
        if _commit(table, staged, staged.upon(name, table)):
            return Published(_published(load_table(catalog, name), staged) or 0, attempt)
    raise CommitConflictError(
        f"The catalog refused a {staged.work} of {name} {TRIES} times.",
        where=f"branch {staged.branch or 'none'}",
        meaning=f"Others commit to the table all the time; nothing of this {staged.work} is visible.",
        todo="Try again; make upkeep or other writers less eager if it lasts.",
    )


def _published(table: Table, staged: Staged) -> int | None:
    """The snapshot that holds this very work, if an earlier try went through unnoticed."""
    recent = islice(ancestors(table.metadata), _LOOK_BACK)
    return next((snapshot.snapshot_id for snapshot in recent if staged.made(snapshot)), None)


def _same_layout(name: TableName, table: Table, staged: Staged) -> None:
    """PyIceberg would note the files under partitions that they do not have."""
    if any(file.spec_id != table.spec().spec_id for file in staged.files):
        raise CommitConflictError(
            f"The partitions of {name} were changed while a {staged.work} was written.",
            where=f"branch {staged.branch or 'none'}",
            meaning=f"Nothing of this {staged.work} is visible.",
            todo="Try again.",
        )


def _commit(table: Table, staged: Staged, entry: Entry) -> bool:
    """One try; False where the catalog refused, or where it is not known what became of it."""
    from pyiceberg.table.update import RemoveSnapshotRefUpdate

    said = entry.properties()
    tx = table.transaction()
    tx.set_properties(said)
    if staged.resumes and SUSPENDED in table.properties:
        tx.remove_properties(SUSPENDED)
    staged.put(tx, table, said)
    if staged.branch in table.metadata.refs:
        tx._apply((RemoveSnapshotRefUpdate(ref_name=staged.branch),))
    return through(tx.commit_transaction)
