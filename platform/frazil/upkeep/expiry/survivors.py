"""Rows leave a table: files that hold them are written again without them, and put in place in one commit.

Row expiry and forgetting both come through here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.errors import CommitConflictError
from frazil.spec.names import TableName
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.catalogs.pyiceberg import transaction
from frazil.tables.commits.commit import Committed, commit
from frazil.tables.commits.ledger import copied, disown_copy
from frazil.tables.commits.replacement import replacing
from frazil.tables.commits.stage import StagedFiles, append_files, check_still_there
from frazil.tables.commits.works import tries, work_name
from frazil.tables.creation import refuse_newer_format
from frazil.tables.metadata.manifests import Candidates
from frazil.tables.rewrites.moved import judged
from frazil.tables.rewrites.remainder import write_rest
from frazil.tables.spark.arrangement import arranged
from frazil.tables.spark.faults import Job, files_there
from frazil.tables.spark.session import samples
from frazil.upkeep.row_expiry.plan import PastRows

if TYPE_CHECKING:
    from pyiceberg.table import Table, Transaction


_SHORTER = "Try again; if it takes as long, lower upkeep.max_bytes."


@dataclass(frozen=True)
class Survivors:
    """What stays of some data files."""

    replaced: frozenset[str] = frozenset()  # paths of the files that were read
    deletes: frozenset[str] = frozenset()  # manifests of delete files that were applied
    staged: StagedFiles = field(default_factory=StagedFiles)  # the new files
    expired: int = 0

    def fit(self, past: PastRows, spec_id: int) -> bool:
        """Whether they still stand for the mixed files, of a later head perhaps."""
        same = (self.replaced, self.deletes) == (past.mixed_paths, past.deletes)
        return same and all(file.spec_id == spec_id for file in self.staged.files)


Find = Callable[["Table", frozenset[str] | None], PastRows]
"""The files of a head that hold rows which go; of those to be rewritten only these paths, unless None."""

Step = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Says:
    """What the commit says of itself.

    Args:
        summary: Of its snapshot, besides the ledger.
        ledger: Behind a head of which so many rows go, by work of a name; empty: there is none.
        properties: What the table's properties say then, besides the ledger.
    """

    summary: Mapping[str, str]
    ledger: Callable[[Table, int, str], Mapping[str, str]]
    properties: Callable[[Table], Mapping[str, str]] = lambda _: {}

    def stage_on(self, tx: Transaction, table: Table, rows: int, work: str) -> Mapping[str, str]:
        """Has a commit set the table's properties; what its snapshot says."""
        ledger = self.ledger(table, rows, work)
        disown_copy(tx)  # what `copied` says holds
        copy = copied(ledger, table.metadata.next_sequence_number()) if ledger else {}
        if properties := {**copy, **self.properties(table)}:
            tx.set_properties(properties)
        return {**self.summary, **ledger}


@dataclass(frozen=True, slots=True)
class Leaving:
    """Which rows go, and how that work is named.

    Args:
        sql: True of rows that go.
        work: In errors, such as `row expiry`.
        prefix: Of the names that ledgers have for it.
        again: What to do where others commit all the time.
        orphans_after: Age at which the table's files go that no snapshot names.
        untold: Manifests say nothing of the files that go, whose bounds and partitions tell values.
        marks: A look that finds no row commits a snapshot without files: who publishes later compares.
    """

    sql: str
    work: str
    prefix: str
    again: str
    orphans_after: timedelta
    untold: bool = False
    marks: bool = False


@dataclass(frozen=True, slots=True)
class Taken:
    """Rows that went."""

    past: PastRows
    survivors: Survivors
    done: Committed  # without a snapshot where nothing was left to do
    conflicts: int = 0  # how often files were written anew, or the commit was refused

    @property
    def rows(self) -> int:
        """How many."""
        return self.past.rows + self.survivors.expired


def take_out(
    connections: Connections,
    handle: TableHandle,
    find: Find,
    says: Says,
    leaving: Leaving,
    on_step: Step = lambda _: None,
) -> Taken:
    """Takes rows out of `main`; writes files anew where others changed them meanwhile.

    `on_step` is told written, published.

    Raises:
        CommitConflictError: Others changed the files time and again.
        DifferentError: The table's format is newer than what can be written.
    """
    refuse_newer_format(handle.load())
    for attempt in tries():
        with attempt:
            work = work_name(leaving.prefix)
            survivors = write_survivors(connections, handle, find, leaving)
            on_step("written")
            taken = put_survivors(handle, survivors, find, says, leaving, work)
            if taken.done.snapshot_id:
                on_step("published")
    return replace(taken, conflicts=taken.conflicts + attempt.num - 1)


def write_survivors(connections: Connections, handle: TableHandle, find: Find, leaving: Leaving) -> Survivors:
    """Reads the mixed files of the head with whatever deletes rows in them, and writes what stays."""
    table = handle.load()
    with files_there(table):
        past = find(table, None)
    if not past.mixed:
        return Survivors(deletes=past.deletes)
    files = Candidates(past.mixed, past.named)
    job = Job(leaving.work, str(handle), "No row is lost or doubled.", "Try again.")
    rest = write_rest(
        connections.background_spark, table, files, lambda rows: judged(rows, leaving.sql), job,
        leaving.orphans_after, lambda _, stay: arranged(stay, table), twice=samples(table),
    )  # fmt: skip
    work, wanted = f"A {leaving.work} of {handle}", rest.rows - rest.gone
    staged = rest.audited(wanted, work, f"{rest.gone} go")
    return Survivors(past.mixed_paths, past.deletes, staged, rest.gone)


def put_survivors(
    handle: TableHandle,
    survivors: Survivors,
    find: Find,
    says: Says,
    leaving: Leaving,
    work: str,
) -> Taken:
    """Takes files out of `main`, and puts the survivors in, in one commit.

    `work` names it in the ledger.

    Raises:
        CommitConflictError: Others changed the files meanwhile.
        RetryError: It took so long that the new files may be gone.
    """
    from frazil.tables.commits.rewrite import stage_new_rows

    tried: dict[int | None, PastRows] = {}

    def stage(table: Table) -> Transaction | None:
        tried[None] = past = find(table, survivors.replaced)
        if not survivors.fit(past, table.spec().spec_id):
            raise _overtaken(handle.name, leaving)
        check_still_there(handle.name, survivors.staged, leaving.work, _SHORTER)
        if not past and not (leaving.marks and table.metadata.current_snapshot_id):
            return None
        tx = transaction(table)
        summary = says.stage_on(tx, table, past.rows + survivors.expired, work)
        if not past:
            tried[append_files(tx, (), summary)] = past
            return tx
        what = replacing(past.named, past.paths, survivors.staged.files)
        tried[stage_new_rows(tx, replace(what, untold=leaving.untold), summary)] = past
        return tx

    done = commit(handle, stage, work=leaving.work, todo=leaving.again)
    return Taken(tried[done.snapshot_id], survivors, done, done.conflicts)


def _overtaken(name: TableName, leaving: Leaving) -> CommitConflictError:
    return CommitConflictError(
        f"Others changed files of {name} while a {leaving.work} took rows out of them.",
        meaning="The table is as they left it; no row was deleted.",
        todo=leaving.again,
    )
