"""One round of a compaction whose rows Spark reads: to shuffle or sort them, or to leave out deleted ones.

A branch that is only read holds the chosen files, and what deletes rows in them; tasks write the new ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.spec.names import TableName
from frazil.spec.table import SortTerm
from frazil.tables.commit import Committed, commit
from frazil.tables.faults import Job, spark_job
from frazil.tables.files import LARGEST
from frazil.tables.manifests import Head, delete_manifests
from frazil.tables.pyiceberg import transaction
from frazil.tables.replacement import Replacement, overtaken, same_rows
from frazil.tables.spark import at_snapshot
from frazil.tables.stage import StagedFiles, audit_rows
from frazil.upkeep.compaction.plan import Round

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table, Transaction

AGAIN = "Nothing: the upkeep sensor tries again; so does `frazil compact`."
"""What to do where others commit all the time."""

_MARK = {"frazil.plan": "compaction"}


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A round that is written and audited; nothing of it is visible on `main`."""

    what: Replacement
    staged: StagedFiles


def rewrite(
    connections: Connections,
    name: TableName,
    head: Head,
    plan: Round,
    order: Sequence[SortTerm],
    branch: str,
) -> Rewritten:
    """Writes the files of one round anew, without rows that were deleted; `branch` holds the old ones.

    Rows of a file stay as they come where `order` is empty.
    """
    made = _make_branch(connections, name, head, plan, branch)
    snapshot = made.snapshot_id or 0
    rows = _rows(connections, name, head, plan, snapshot)
    with spark_job(compaction_job(name)):
        files = _written(connections, name, made.table, snapshot, plan, order)
    staged = StagedFiles(files, branch, snapshot)
    numbers = f"{rows} rows in the {len(plan.files)} old ones"
    audit_rows(staged, rows, f"A compaction of {name}", numbers)
    return Rewritten(same_rows(head, {f.path for f in plan.files}, staged.files), staged)


def _written(
    connections: Connections,
    name: TableName,
    table: Table,
    snapshot: int,
    plan: Round,
    order: Sequence[SortTerm],
) -> tuple[DataFile, ...]:
    from frazil.tables.insertion import insert_rows
    from frazil.upkeep.compaction.order import by_bins, cut, in_partitions

    held = at_snapshot(connections.background_spark, name, snapshot)
    if plan.older:
        return insert_rows(in_partitions(held, table, order), table)
    one = [bin_ for bin_ in plan.bins if bin_.into == 1]
    found = insert_rows(by_bins(held, one, order), table, LARGEST) if one else ()
    for bin_ in (b for b in plan.bins if b.into > 1):
        found += insert_rows(cut(held, bin_, order), table, LARGEST if order else bin_.most)
    return found


def compaction_job(name: TableName) -> Job:
    """What a failed Spark job of a compaction means."""
    again = "Try again; `frazil orphans` removes leftovers."
    return Job("compaction", str(name), "No row is lost or doubled.", again)


def _make_branch(
    connections: Connections, name: TableName, head: Head, plan: Round, branch: str
) -> Committed:
    from frazil.tables.rewrite import stage_branch

    def stage(table: Table) -> Transaction:
        if delete_manifests(table) != head.delete_manifests:  # the branch would get those
            raise overtaken(table, "rows were deleted")
        tx = transaction(table)
        files = tuple(head.entries[f.path] for f in plan.files)
        stage_branch(tx, branch, files, head.named, _MARK)
        return tx

    return commit(connections.catalog, name, stage, work="branch of a compaction", todo=AGAIN)


def _rows(connections: Connections, name: TableName, head: Head, plan: Round, snapshot: int) -> int:
    """How many rows the files hold; where there are delete files only reading tells."""
    if not head.delete_manifests:
        return sum(f.records for f in plan.files)
    with spark_job(compaction_job(name)):
        return int(at_snapshot(connections.background_spark, name, snapshot).count())
