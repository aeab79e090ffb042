"""One round of a compaction: the chosen files on a branch of their own, rewritten there by Spark.

The branch holds nothing but those files, so Iceberg's procedure rewrites exactly them, and reads no
manifest but one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.quoting import literal, quoted
from frazil.spec.names import TableName
from frazil.spec.table import SortTerm
from frazil.tables.branches import branch_lost, tries
from frazil.tables.catalog import load_table
from frazil.tables.commit import commit
from frazil.tables.faults import Job, spark_job
from frazil.tables.manifests import Head, delete_manifests
from frazil.tables.pyiceberg import transaction
from frazil.tables.redaction import SPARK_CATALOG
from frazil.tables.replacement import Replacement, overtaken, same_rows
from frazil.tables.spark import spark_name
from frazil.tables.stage import StagedFiles, audit_rows, staged_files
from frazil.upkeep.compaction.plan import Round

if TYPE_CHECKING:
    from pyiceberg.table import Table, Transaction

AGAIN = "Nothing: the upkeep sensor tries again; so does `frazil compact`."
"""What to do where others commit all the time."""

_MARK = {"frazil.plan": "compaction"}


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A round that is written and audited; nothing of it is visible on `main`.

    `conflicts` counts how often Spark's commit was refused, because others committed.
    """

    what: Replacement
    staged: StagedFiles
    conflicts: int


def rewrite(
    connections: Connections,
    name: TableName,
    head: Head,
    plan: Round,
    order: Iterable[SortTerm],
    branch: str,
) -> Rewritten:
    """Writes the files of one round anew, on a new branch; rows stay as they come where `order` is empty."""
    _make_branch(connections, name, head, plan, branch)
    rows = _rows(connections, name, head, plan, branch)
    # Behind all others Spark is slow to commit, and what is landed meanwhile makes it a conflict.
    for attempt in tries():
        with attempt:
            _call(connections, name, plan, order, branch)
    staged = staged_files(load_table(connections.catalog, name), branch)
    if staged is None:
        raise branch_lost(name, branch)
    numbers = f"{rows} rows in the {len(plan.files)} old ones"
    audit_rows(staged, rows, f"A compaction of {name}", numbers)
    return Rewritten(same_rows(head, {f.path for f in plan.files}, staged.files), staged, attempt.num - 1)


def _call(
    connections: Connections, name: TableName, plan: Round, order: Iterable[SortTerm], branch: str
) -> None:
    """Calls Iceberg's own procedure on the branch."""
    arguments = {
        "table": literal(spark_name(name)),
        "branch": literal(branch),
        **_strategy(order),
        "options": _options(plan, connections.settings.spark.parallelism),
    }
    said = ", ".join(f"{key} => {value}" for key, value in arguments.items())
    with spark_job(compaction_job(name)):
        connections.background_spark.sql(f"CALL {SPARK_CATALOG}.system.rewrite_data_files({said})").collect()


def compaction_job(name: TableName) -> Job:
    """What a failed Spark job of a compaction means."""
    again = "Try again; `frazil orphans` removes leftovers."
    return Job("compaction", str(name), "No row is lost or doubled.", again)


def _make_branch(connections: Connections, name: TableName, head: Head, plan: Round, branch: str) -> None:
    from frazil.tables.rewrite import stage_branch

    def stage(table: Table) -> Transaction:
        if delete_manifests(table) != head.delete_manifests:  # the branch would get those
            raise overtaken(table, "rows were deleted")
        tx = transaction(table)
        files = tuple(head.entries[f.path] for f in plan.files)
        stage_branch(tx, branch, files, head.named, _MARK)
        return tx

    commit(connections.catalog, name, stage, work="branch of a compaction", todo=AGAIN)


def _rows(connections: Connections, name: TableName, head: Head, plan: Round, branch: str) -> int:
    """How many rows the files hold; where there are delete files only reading tells."""
    if not head.delete_manifests:
        return sum(f.records for f in plan.files)
    with spark_job(compaction_job(name)):
        return int(connections.background_spark.table(spark_name(name, branch)).count())


def _strategy(order: Iterable[SortTerm]) -> dict[str, str]:
    if not (terms := [_term(t) for t in order]):
        return {"strategy": literal("binpack")}
    return {"strategy": literal("sort"), "sort_order": literal(", ".join(terms))}


def _term(term: SortTerm) -> str:
    columns = [quoted(*column.split(".")) for column in term.columns]
    if term.zorder:
        return f"zorder({', '.join(columns)})"
    way, nulls = "ASC" if term.ascending else "DESC", "FIRST" if term.nulls_first else "LAST"
    return f"{columns[0]} {way} NULLS {nulls}"


def _options(plan: Round, cores: int) -> str:
    options = {
        "rewrite-all": "true",
        "target-file-size-bytes": plan.target,
        "max-file-group-size-bytes": plan.group,
        # Half of the cores at most, or landings wait: a group is one task, but where it is shuffled.
        "max-concurrent-file-group-rewrites": max(1, cores // 2),
    }
    pairs = (f"{literal(key)}, {literal(str(value))}" for key, value in options.items())
    return f"map({', '.join(pairs)})"
