"""Work that is written and audited, and the one commit that makes it visible on `main`.

Landings, redrives and derivations all come through here. The commit is bound to the head whose position was
just read.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, ClassVar

from frazil.errors import AuditFailedError, CommitConflictError, RetryError
from frazil.spec.names import TableName
from frazil.tables.catalogs.handle import TableHandle, name_of
from frazil.tables.catalogs.pyiceberg import transaction
from frazil.tables.commits.commit import Committed, commit
from frazil.tables.commits.ledger import Entry, copied
from frazil.tables.commits.replacement import replacing
from frazil.tables.commits.suspension import SUSPENDED
from frazil.tables.metadata.manifests import HeadReader, delete_manifests

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table, Transaction


TASK_SECONDS = "frazil.task-seconds"
"""In the summary of a snapshot: CPU seconds of the tasks that wrote its files. It is no part of a ledger."""

RECORD_TIMES = "frazil.record-times"
"""In the summary of a landing's snapshot: timestamps, in milliseconds since the epoch, one for each share in
`OLDER`. That share of its records is not newer than the timestamp. It is no part of a ledger."""

OLDER = (0.5, 0.05, 0.01)
"""The first one gives the median."""


def record_times(summary: Mapping[str, str]) -> tuple[int, ...]:
    """For each share of `OLDER` a timestamp; nothing where a snapshot has none that can be read."""
    try:
        times = tuple(map(int, summary[RECORD_TIMES].split(",")))
    except (KeyError, ValueError):
        return ()
    return times if len(times) == len(OLDER) else ()


_SHORTER = "Try again; if it takes as long, lower max_records or max_bytes."


@dataclass(frozen=True, slots=True)
class StagedFiles:
    """Data files that are written and audited, and that no snapshot names."""

    files: tuple[DataFile, ...] = ()
    until: float = inf  # when, in seconds since the epoch, they may go as orphans
    checks: tuple[str, ...] = ()  # what each task says of the spec's own checks
    took: float | None = None  # CPU seconds of the tasks that wrote them; None: they did not count
    older: tuple[int, ...] = ()  # timestamps of their records, see `RECORD_TIMES`; nothing: nobody counted

    @property
    def summary(self) -> dict[str, str]:
        """What a snapshot says of them."""
        took = {} if self.took is None else {TASK_SECONDS: f"{self.took:.3f}"}
        return took | ({RECORD_TIMES: ",".join(map(str, self.older))} if self.older else {})

    @property
    def rows(self) -> int:
        """Rows of all files."""
        return sum(file.record_count for file in self.files)


@dataclass(frozen=True)
class Staged(ABC):
    """Work that is written and audited, but not visible."""

    staged: StagedFiles

    work: ClassVar[str] = "landing"
    resumes: ClassVar[bool] = True
    """Whether a suspended table goes on with it."""

    @abstractmethod
    def next_entry(self, table: Table) -> Entry:
        """What the snapshot says behind the present head; raises OvertakenError where it must not follow."""

    def settle(self, tx: Transaction, table: Table) -> None:  # noqa: B027 - most work has nothing more
        """What else the commit does once the files are in; by default nothing."""

    def put(self, tx: Transaction, table: Table, summary: Mapping[str, str]) -> None:
        """Adds the files to a commit; by default as an append."""
        append_files(tx, self.staged.files, summary)


def append_files(tx: Transaction, files: Iterable[DataFile], summary: Mapping[str, str]) -> int:
    """Adds a snapshot with more files, or with none: it moves the head all the same; returns its id."""
    from frazil.tables.commits.append import stage_files

    return stage_files(tx, files, summary)


def audit_failed(work: str, numbers: str, again: str = "Try again.") -> AuditFailedError:
    """What to raise where files do not hold what they should; `work` says of what it is."""
    return AuditFailedError(
        f"{work} does not add up.",
        where=numbers,
        meaning="Nothing of it is visible; the table's rows are as they were.",
        todo=f"{again} If it happens twice, it is a defect of Frazil: please report these numbers.",
    )


def audit_rows(staged: StagedFiles, wanted: int, work: str, numbers: str, again: str = "Try again.") -> None:
    """Raises AuditFailedError unless files hold as many rows as wanted; `numbers` explains that number."""
    if staged.rows != wanted:
        raise audit_failed(work, f"{staged.rows} rows in the new files; {numbers}", again)


def put_in_place(
    tx: Transaction,
    table: Table,
    removed: Collection[str] | None,
    staged: StagedFiles,
    summary: Mapping[str, str],
    heeded: Set[str] = frozenset(),
    vectors: Collection[DataFile] = (),
) -> None:
    """Adds a snapshot in which files take the place of others, whose rows were merged into them.

    Args:
        removed: Paths of the files that go; None: all.
        heeded: Paths of the manifests of delete files, as they were when the files were read.
        vectors: Of files that stay, and lose rows; those that these had go.

    Raises:
        CommitConflictError: Some of them are gone, for a compaction wrote them anew, or have lost rows.
    """
    from frazil.tables.commits.rewrite import stage_new_rows

    if (removed or vectors) and delete_manifests(table) - heeded:
        raise CommitConflictError(
            f"Others deleted rows of {'.'.join(table.name())} while some were merged.",
            meaning="Nothing of this work is visible.",
            todo="Try again.",
        )
    head = HeadReader().read(table) if removed is None or removed or vectors else None
    what = replace(replacing(head.named if head else {}, removed, staged.files), vectors=tuple(vectors))
    is_gone = what.vectored - (head.entries.keys() if head else set())
    if is_gone or (removed is not None and len(what.removed) < len(removed)):
        raise CommitConflictError(
            f"Files of {'.'.join(table.name())} were written anew while their rows were merged.",
            meaning="Nothing of this work is visible.",
            todo="Try again.",
        )
    if what.removed or what.vectors:
        stage_new_rows(tx, what, summary)
    else:
        append_files(tx, staged.files, summary)


def publish(handle: TableHandle, staged: Staged) -> Committed:
    """Puts the files on `main` with their ledger, in one commit.

    Raises:
        OvertakenError: Others moved the position; this work is dropped.
        CommitConflictError: The catalog refused time and again though the position stood still, or the
            branch is not what was audited.
    """

    def stage(table: Table) -> Transaction:
        entry = staged.next_entry(table)
        check_still_there(handle.name, staged.staged, staged.work, _SHORTER)
        _same_layout(table, staged)
        return _staged(table, staged, entry.properties())

    todo = "Try again; make upkeep or other writers less eager if it lasts."
    return commit(handle, stage, work=staged.work, todo=todo)


def _staged(table: Table, staged: Staged, summary: Mapping[str, str]) -> Transaction:
    tx = transaction(table)
    tx.set_properties(copied(summary, table.metadata.next_sequence_number()))
    if staged.resumes and SUSPENDED in table.properties:
        tx.remove_properties(SUSPENDED)
    staged.put(tx, table, {**summary, **staged.staged.summary})
    staged.settle(tx, table)
    return tx


def check_still_there(name: TableName, staged: StagedFiles, work: str, todo: str) -> None:
    """Raises RetryError where orphan removal may have taken the files, for no snapshot names them."""
    if time.time() > staged.until:
        raise RetryError(
            f"A {work} of {name} took so long that its files may be gone.",
            where="half of upkeep.orphans_after, after which files that no snapshot names go, or six hours",
            meaning="Nothing of it is visible; the table's rows are as they were.",
            todo=todo,
        )


def _same_layout(table: Table, staged: Staged) -> None:
    """PyIceberg would note the files under partitions that they do not have."""
    if any(file.spec_id != table.spec().spec_id for file in staged.staged.files):
        raise CommitConflictError(
            f"The partitions of {name_of(table)} were changed while a {staged.work} was written.",
            meaning=f"Nothing of this {staged.work} is visible.",
            todo="Try again.",
        )
