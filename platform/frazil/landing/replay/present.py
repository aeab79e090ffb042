"""What a table's head has of some spans, and how that differs from what was read of them now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.errors import CommitConflictError
from frazil.landing.chosen import letters_within, offset_columns
from frazil.landing.ledger import Ledger, read_ledger
from frazil.landing.plan import Plan
from frazil.quoting import quoted
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.branches import branch_lost
from frazil.tables.catalog import load_table
from frazil.tables.faults import Job, spark_job
from frazil.tables.keys import Key, keys_in, within, within_sql
from frazil.tables.manifests import Candidates, delete_manifests, files_matching
from frazil.tables.spark import aggregated, append_rows, at_snapshot, spark_name
from frazil.tables.stage import StagedFiles, audit_rows, branch_of_files, staged_files

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyspark.sql import SparkSession


_KEPT = {"frazil.plan": "replay"}
"""In summaries of snapshots that are a branch's, and never on `main`."""


@dataclass(frozen=True)
class Present:
    """What one head has of the spans.

    Attributes:
        whole: Paths of the files that hold nothing else.
        mixed: The files that hold other rows, too.
        rows: How many rows there are; `mixed_rows` of them in the mixed files.
        letters: The dead letters of these spans that no row is of.
        redriven: Those that a row is of.
        deletes: Paths of the manifests of delete files that were heeded.
    """

    table: Table
    ledger: Ledger
    whole: frozenset[str]
    mixed: Candidates
    rows: int
    mixed_rows: int
    letters: frozenset[Key]
    redriven: frozenset[Key]
    deletes: frozenset[str]

    @property
    def head(self) -> int:
        """The snapshot that was looked at."""
        return self.table.metadata.current_snapshot_id or 0

    @property
    def paths(self) -> frozenset[str]:
        """Paths of all files that hold a row of the spans."""
        return self.whole | self.mixed.rows.keys()


def find_present(
    spark: SparkSession, spec: TableSpec, name: TableName, table: Table, plan: Plan, job: Job
) -> Present:
    """Looks at the head: which files have rows of the spans, and which dead letters are there.

    Raises:
        CommitConflictError: Statistics of a file are wrong.
    """
    names, ledger = offset_columns(spec), read_ledger(table.metadata)
    assert ledger, "the plan is of one"
    counts = rows_by_file(spark, name, table, within_sql(plan.busy, names), job)
    found, deletes = files_matching(table, within(plan.busy, names)), delete_manifests(table)
    held = [e for e in found.entries if e.data_file.file_path in counts]
    if len(held) < len(counts):
        raise CommitConflictError(
            f"Statistics of {name} leave out a file that holds rows to be replayed.",
            where=", ".join(sorted(counts.keys() - {e.data_file.file_path for e in held})),
            meaning="Nothing was changed.",
            todo=f"`frazil compact {name} --everything` writes it anew; then replay again.",
        )
    sizes = {e.data_file.file_path: e.data_file.record_count for e in held}
    whole = frozenset(path for path, rows in counts.items() if not deletes and rows == sizes[path])
    mixed = tuple(e for e in held if e.data_file.file_path not in whole)
    letters = letters_within(table.catalog, name, ledger, plan.busy)
    redriven = keys_in(table, letters, names)
    return Present(
        table=table,
        ledger=ledger,
        whole=whole,
        mixed=Candidates(mixed, found.named),
        rows=sum(counts.values()),
        mixed_rows=sum(counts[e.data_file.file_path] for e in mixed),
        letters=frozenset(letters - redriven),
        redriven=frozenset(redriven),
        deletes=deletes,
    )


def rows_by_file(spark: SparkSession, name: TableName, table: Table, sql: str, job: Job) -> Mapping[str, int]:
    """How many rows of the head are such, by the path of the file that holds them."""
    with spark_job(job):
        rows = at_snapshot(spark, name, table.metadata.current_snapshot_id or 0).where(sql)
        found = rows.groupBy("_file").count().collect()
    return {row["_file"]: row["count"] for row in found}


def differences(
    spark: SparkSession,
    name: TableName,
    head: int,
    new: tuple[int, int],
    sql: str,
    names: tuple[str, str],
    job: Job,
) -> tuple[int, int]:
    """How many rows of a head have no new one of their offset, and how many new ones have no such row.

    `new` are two snapshots of a branch: what came behind the first one, up to the second one.
    """
    columns = [quoted(name) for name in names]
    with spark_job(job):
        old = at_snapshot(spark, name, head).where(sql).select(*columns)
        came = spark.read.option("start-snapshot-id", str(new[0])).option("end-snapshot-id", str(new[1]))
        now = came.table(spark_name(name)).select(*columns)
        gone = old.join(now, list(names), "left_anti").count()
        back = now.join(old, list(names), "left_anti").count()
    return gone, back


def write_kept(
    spark: SparkSession,
    name: TableName,
    table: Table,
    files: Candidates,
    branch: str,
    going: str,
    fewer: int,
    job: Job,
) -> StagedFiles:
    """Writes some files of a table's head anew, without rows of which an SQL expression is true.

    Args:
        branch: A new one, that holds the files first.
        fewer: How many rows go.

    Raises:
        CommitConflictError: The table has another head by now, or the branch is gone.
        AuditFailedError: More or fewer are left.
    """
    at = branch_of_files(table.catalog, name, table, branch, files, _KEPT)
    held = at_snapshot(spark, name, at)
    exact = not delete_manifests(table)
    before = sum(files.rows.values()) if exact else aggregated(held, {"rows": "count(1)"}, job)["rows"]
    with spark_job(job):
        append_rows(held.where(f"NOT coalesce({going}, false)"), name, branch, _KEPT, sorts=False)
    found = staged_files(load_table(table.catalog, name), branch)
    if found is None:
        raise branch_lost(name, branch)
    numbers = f"of {before} rows {fewer} go"
    audit_rows(found, before - fewer, f"A {job.work} of {job.of}", numbers, job.again)
    return found
