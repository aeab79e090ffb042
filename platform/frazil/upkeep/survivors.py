"""Data files written again without some of their rows on a branch that nobody reads, and put in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.errors import CommitConflictError
from frazil.spec.names import TableName
from frazil.tables.branches import branch_lost, publish_branch
from frazil.tables.catalog import load_table
from frazil.tables.commit import Committed, commit
from frazil.tables.faults import Job, spark_job
from frazil.tables.pyiceberg import transaction
from frazil.tables.replacement import replacing
from frazil.tables.spark import Watched, append_rows, samples, spark_name
from frazil.tables.stage import StagedFiles, audit_failed, staged_files
from frazil.upkeep.row_expiry.plan import PastRows

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table, Transaction


_MARK = "frazil.plan"  # in summaries of snapshots that are a branch's, and never on `main`


@dataclass(frozen=True)
class Survivors:
    """What stays of some data files."""

    replaced: frozenset[str] = frozenset()  # paths of the files that were read
    deletes: frozenset[str] = frozenset()  # manifests of delete files that were applied
    # The new files; without a branch where nothing had to be read.
    staged: StagedFiles = field(default_factory=StagedFiles)
    expired: int = 0

    def fit(self, past: PastRows, spec_id: int) -> bool:
        """Whether they still stand for the mixed files, of a later head perhaps."""
        same = (self.replaced, self.deletes) == (past.mixed_paths, past.deletes)
        return same and all(file.spec_id == spec_id for file in self.staged.files)


@dataclass(frozen=True, slots=True)
class Leaving:
    """Which rows go, and how that work is named in errors and on its branch."""

    sql: str  # true of rows that go
    work: str  # such as `row expiry`
    again: str  # what to do where others commit all the time


def write_survivors(
    connections: Connections,
    name: TableName,
    find: Callable[[Table], PastRows],
    leaving: Leaving,
    branch: str,
) -> Survivors:
    """Reads the mixed files of the head with whatever deletes rows in them, and writes what stays.

    `find` tells the files of a head that hold rows which go.
    """
    past, made = _make_branch(connections, name, find, branch, leaving)
    if not past.mixed:
        return Survivors(deletes=past.deletes)
    read, expired = _append(connections, name, leaving, branch, made)
    staged = staged_files(load_table(connections.catalog, name), branch)
    if staged is None:
        raise branch_lost(name, branch)
    if read - expired != staged.rows:
        numbers = f"{read} rows read, {expired} of them go, {staged.rows} written"
        raise audit_failed(f"A {leaving.work} of {name}", numbers)
    return Survivors(past.mixed_paths, past.deletes, staged, expired)


Says = Callable[["Table", PastRows], tuple[Mapping[str, str], Mapping[str, str]]]
"""What a head's successor says in its summary, and what the table's properties say then."""


def put_survivors(
    catalog: Catalog,
    name: TableName,
    survivors: Survivors,
    find: Callable[[Table], PastRows],
    says: Says,
    leaving: Leaving,
    *,
    untold: bool = False,
) -> tuple[Committed, PastRows]:
    """Takes files out of `main`, and puts the survivors in, in one commit; what went is told with it.

    Args:
        untold: Manifests say nothing of the files that go, whose bounds and partitions tell values.

    Raises:
        CommitConflictError: Others changed the files meanwhile.
    """
    from frazil.tables.rewrite import stage_new_rows

    tried: dict[int | None, PastRows] = {}

    def stage(table: Table) -> Transaction | None:
        tried[None] = past = find(table)
        if not survivors.fit(past, table.spec().spec_id):
            raise _overtaken(name, leaving)
        if not past:
            return None
        summary, properties = says(table, past)
        tx = transaction(table)
        if properties:
            tx.set_properties(dict(properties))
        what = replace(replacing(past.named, past.paths, survivors.staged.files), untold=untold)
        tried[stage_new_rows(tx, what, summary)] = past
        if survivors.staged.branch:
            publish_branch(tx, name, survivors.staged.branch, survivors.staged.tip)
        return tx

    done = commit(catalog, name, stage, work=leaving.work, todo=leaving.again)
    return done, tried[done.snapshot_id]


def _overtaken(name: TableName, leaving: Leaving) -> CommitConflictError:
    return CommitConflictError(
        f"Others changed files of {name} while a {leaving.work} took rows out of them.",
        meaning="The table is as they left it; no row was deleted.",
        todo=leaving.again,
    )


def _make_branch(
    connections: Connections,
    name: TableName,
    find: Callable[[Table], PastRows],
    branch: str,
    leaving: Leaving,
) -> tuple[PastRows, Committed]:
    """Lays the mixed files of the present head upon a branch, if there are any."""
    from frazil.tables.rewrite import stage_branch

    past = PastRows()

    def stage(table: Table) -> Transaction | None:
        nonlocal past
        past = find(table)
        if not past.mixed:
            return None
        tx = transaction(table)
        stage_branch(tx, branch, past.mixed, past.named, {_MARK: leaving.work})
        return tx

    done = commit(connections.catalog, name, stage, work=f"branch of a {leaving.work}", todo=leaving.again)
    return past, done


def _append(
    connections: Connections, name: TableName, leaving: Leaving, branch: str, made: Committed
) -> tuple[int, int]:
    """Rows of a snapshot that were read, and rows left out, as Spark counted them on the way."""
    job = Job(leaving.work, str(name), "No row is lost or doubled.", "Try again.")
    with spark_job(job):
        held = connections.background_spark.read.option("versionAsOf", str(made.snapshot_id))
        counters = {"read": "count(1)", "past": f"count_if({leaving.sql})"}
        watched = Watched(held.table(spark_name(name)), counters, job, twice=samples(made.table))
        left = watched.rows.where(f"NOT coalesce({leaving.sql}, false)")
        append_rows(left, name, branch, {_MARK: leaving.work})
    counted = watched.measured
    return counted["read"], counted["past"]
