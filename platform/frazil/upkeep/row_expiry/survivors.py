"""Data files written again without the rows that are past, on a branch that nobody reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.spec.names import TableName
from frazil.tables.branches import branch_lost
from frazil.tables.catalog import load_table
from frazil.tables.commit import Committed, commit
from frazil.tables.faults import Job, spark_job
from frazil.tables.pyiceberg import transaction
from frazil.tables.spark import Watched, append_rows, samples, spark_name
from frazil.tables.stage import StagedFiles, audit_failed, staged_files
from frazil.upkeep.row_expiry.plan import Cutoff, PastRows

if TYPE_CHECKING:
    from pyiceberg.table import Table, Transaction


AGAIN = "Nothing: the upkeep sensor tries again; so does `frazil expire --rows`."
"""What to do where others commit all the time."""

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


def write_survivors(
    connections: Connections,
    name: TableName,
    find: Callable[[Table], PastRows],
    cutoff: Cutoff,
    branch: str,
) -> Survivors:
    """Reads the mixed files of the head with whatever deletes rows in them, and writes what is not past.

    `find` tells the files of a head that hold rows which are past.
    """
    past, made = _make_branch(connections, name, find, branch)
    if not past.mixed:
        return Survivors(deletes=past.deletes)
    read, expired = _append(connections, name, cutoff, branch, made)
    staged = staged_files(load_table(connections.catalog, name), branch)
    if staged is None:
        raise branch_lost(name, branch)
    if read - expired != staged.rows:
        numbers = f"{read} rows read, {expired} of them past, {staged.rows} written"
        raise audit_failed(f"A row expiry of {name}", numbers)
    return Survivors(past.mixed_paths, past.deletes, staged, expired)


def _make_branch(
    connections: Connections, name: TableName, find: Callable[[Table], PastRows], branch: str
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
        stage_branch(tx, branch, past.mixed, past.named, {_MARK: "row expiry"})
        return tx

    done = commit(connections.catalog, name, stage, work="branch of a row expiry", todo=AGAIN)
    return past, done


def _append(
    connections: Connections, name: TableName, cutoff: Cutoff, branch: str, made: Committed
) -> tuple[int, int]:
    """Rows of a snapshot that were read, and rows left out, as Spark counted them on the way."""
    job = Job("row expiry", str(name), "No row is lost or doubled.", "Try again.")
    with spark_job(job):
        held = connections.background_spark.read.option("versionAsOf", str(made.snapshot_id))
        counters = {"read": "count(1)", "past": f"count_if({cutoff.sql})"}
        watched = Watched(held.table(spark_name(name)), counters, job, twice=samples(made.table))
        left = watched.rows.where(f"NOT coalesce({cutoff.sql}, false)")
        append_rows(left, name, branch, {_MARK: "row expiry"})
    counted = watched.measured
    return counted["read"], counted["past"]
