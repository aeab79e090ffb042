"""Rows that go: which files of a head hold them, and what is left of those files, written anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.errors import CommitConflictError
from frazil.spec.names import TableName
from frazil.tables.faults import Job, files_there, spark_job
from frazil.tables.manifests import Candidates, Entries, delete_manifests, files_matching
from frazil.tables.spark import aggregated, at_snapshot
from frazil.tables.stage import StagedFiles, branch_of_files

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.manifest import ManifestEntry
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Sought:
    """Rows that go, and how errors speak of them.

    Args:
        sql: True of these rows.
        expression: True of these rows at least: tells the files that can hold them.
        fate: What is to become of them, such as `forgotten`.
        meaning: What an error means for the data.
        again: What to do once more, such as `forget`.
    """

    sql: str
    expression: BooleanExpression
    fate: str
    meaning: str
    again: str


@dataclass(frozen=True, slots=True)
class Holding:
    """The files of a head that hold such rows.

    Attributes:
        counts: How many such rows each has, by its path.
        whole: Those that hold nothing else.
        mixed: Those that hold other rows, too, with the live entries of the manifests that name them.
        deletes: Paths of the manifests of delete files; where there are any, no file counts as whole.
    """

    counts: Mapping[str, int]
    whole: Entries
    mixed: Candidates
    deletes: frozenset[str]

    @property
    def rows(self) -> int:
        """How many such rows there are."""
        return sum(self.counts.values())

    @property
    def mixed_rows(self) -> int:
        """How many of them the mixed files have."""
        return sum(self.counts[path] for path in self.mixed.rows)

    @property
    def paths(self) -> frozenset[str]:
        """Paths of all files that have one."""
        return frozenset(self.counts)


def find_holding(spark: SparkSession, name: TableName, table: Table, sought: Sought, job: Job) -> Holding:
    """Looks into the files of the head that can hold such rows.

    Raises:
        CommitConflictError: Statistics of a file are wrong, or the head expired meanwhile.
    """
    counts = rows_by_file(spark, name, table, sought.sql, job)
    with files_there(table):
        found, deletes = files_matching(table, sought.expression), delete_manifests(table)
    held = [e for e in found.entries if e.data_file.file_path in counts]
    if len(held) < len(counts):
        raise CommitConflictError(
            f"Statistics of {name} leave out a file that holds rows to be {sought.fate}.",
            where=", ".join(sorted(counts.keys() - {e.data_file.file_path for e in held})),
            meaning=sought.meaning,
            todo=f"`frazil compact {name} --everything` writes it anew; then {sought.again} again.",
        )
    by_kind: dict[bool, list[ManifestEntry]] = {True: [], False: []}
    for entry in held:
        rows = counts[entry.data_file.file_path]
        by_kind[not deletes and rows == entry.data_file.record_count].append(entry)
    return Holding(counts, tuple(by_kind[True]), Candidates(tuple(by_kind[False]), found.named), deletes)


def rows_by_file(spark: SparkSession, name: TableName, table: Table, sql: str, job: Job) -> dict[str, int]:
    """How many rows of the head are such, by the path of the file that holds them."""
    head = table.metadata.current_snapshot_id
    if head is None:
        return {}
    with spark_job(job):
        each = at_snapshot(spark, name, head).where(sql).groupBy("_file").count()
        return {row["_file"]: row["count"] for row in each.collect()}


def write_remainder(
    spark: SparkSession,
    name: TableName,
    table: Table,
    files: Candidates,
    branch: str,
    said: Mapping[str, str],
    left: Callable[[DataFrame], DataFrame],
    job: Job,
) -> tuple[StagedFiles, int]:
    """Writes some files of a table's head anew, with what is left of their rows.

    Args:
        branch: A new one, that holds the files while they are read.
        said: In the summary of its snapshot.
        left: Of the files' rows those that stay.

    Returns:
        The new files, and how many rows the others held.

    Raises:
        CommitConflictError: The table has another head by now.
    """
    from frazil.tables.insertion import insert_rows

    snapshot = branch_of_files(table.catalog, name, table, branch, files, said)
    held = at_snapshot(spark, name, snapshot)
    exact = not delete_manifests(table)
    before = sum(files.rows.values()) if exact else aggregated(held, {"rows": "count(1)"}, job)["rows"]
    with spark_job(job):
        new = insert_rows(left(held), table)
    return StagedFiles(new, branch, snapshot), before
