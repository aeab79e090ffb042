"""Rows that go: which files of a head hold them, and what is left of those files, written anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from frazil.errors import CommitConflictError
from frazil.tables.catalogs.handle import name_of
from frazil.tables.commits.stage import StagedFiles, audit_rows
from frazil.tables.metadata.manifests import Candidates, Entries, delete_manifests, files_matching
from frazil.tables.reading.frame import live_frame
from frazil.tables.rewrites.moved import Parted, audit_values
from frazil.tables.spark.faults import Job, files_there, spark_job
from frazil.tables.spark.session import at_snapshot
from frazil.tables.writing.presence import Moves
from frazil.tables.writing.workers import latest_commit

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


def find_holding(spark: SparkSession, table: Table, sought: Sought, job: Job) -> Holding:
    """Looks into the files of the head that can hold such rows.

    Raises:
        CommitConflictError: Statistics of a file are wrong, or the head expired meanwhile.
    """
    name = name_of(table)
    counts = rows_by_file(spark, table, sought.sql, job)
    with files_there(table):
        matching, deletes = files_matching(table, sought.expression), delete_manifests(table)
    holding = [e for e in matching.entries if e.data_file.file_path in counts]
    if len(holding) < len(counts):
        raise CommitConflictError(
            f"Statistics of {name} leave out a file that holds rows to be {sought.fate}.",
            where=", ".join(sorted(counts.keys() - {e.data_file.file_path for e in holding})),
            meaning=sought.meaning,
            todo=f"`frazil compact {name} --everything` rewrites it; then {sought.again} again.",
        )
    by_kind: dict[bool, list[ManifestEntry]] = {True: [], False: []}
    for entry in holding:
        rows = counts[entry.data_file.file_path]
        by_kind[not deletes and rows == entry.data_file.record_count].append(entry)
    return Holding(counts, tuple(by_kind[True]), Candidates(tuple(by_kind[False]), matching.named), deletes)


def rows_by_file(spark: SparkSession, table: Table, sql: str, job: Job) -> dict[str, int]:
    """How many rows of the head are such, by the path of the file that holds them."""
    head = table.metadata.current_snapshot_id
    if head is None:
        return {}
    with spark_job(job):
        each = at_snapshot(spark, name_of(table), head).where(sql).groupBy("_file").count()
        return {row["_file"]: row["count"] for row in each.collect()}


@dataclass(frozen=True, slots=True)
class Rest:
    """What is left of some files of a head, in new ones that no snapshot names.

    Attributes:
        table: At that head.
        files: The old ones.
        staged: The new ones.
        rows: How many the old files held, but those that delete files take away.
        gone: How many of them were left out.
        moves: The values of those.
    """

    table: Table
    files: Candidates
    staged: StagedFiles
    rows: int
    gone: int
    moves: Moves

    def audited(
        self, wanted: int, work: str, numbers: str, again: str = "Try again.", moves: Moves | None = None
    ) -> StagedFiles:
        """The new files, compared with the old ones and with what was counted in between.

        Args:
            wanted: Rows that they must hold.
            numbers: Why so many.
            moves: What became of values; None: they went with the rows that were left out.

        Raises:
            AuditFailedError: They hold others; nothing of the work is visible.
            CommitConflictError: The head expired meanwhile.
        """
        audit_rows(self.staged, wanted, work, f"of {self.rows} rows {numbers}", again)
        named, paths, new = self.files.named, self.files.rows, self.staged.files
        audit_values(work, self.table, named, paths, new, self.moves if moves is None else moves, again)
        return self.staged


def write_rest(
    spark: SparkSession,
    table: Table,
    files: Candidates,
    judge: Callable[[DataFrame], DataFrame],
    job: Job,
    orphans_after: timedelta,
    written: Callable[[DataFrame, DataFrame], DataFrame] = lambda _, stay: stay,
    *,
    twice: bool = False,
) -> Rest:
    """Writes some files of a table's head anew, without the rows that go.

    Args:
        judge: Adds a column `GOES` to rows.
        orphans_after: Age at which the table's files go that no snapshot names.
        written: What new files hold, of all rows of the old ones and those that stay; by default the latter.
        twice: Whether `written` has the rows read twice, see `Watched`.

    Raises:
        CommitConflictError: A file expired meanwhile.
        FrazilError: See `spark_job`.
    """
    from frazil.tables.writing.insertion import insert_rows

    until = latest_commit(orphans_after)
    with files_there(table):
        stored_rows, exact = live_frame(spark, table, files.entries, moves=True), not delete_manifests(table)
    with spark_job(job):
        parted = Parted(judge(stored_rows), table, job, twice=twice)
        new = insert_rows(written(stored_rows, parted.rows), table)
    read, gone, moves = parted.counted()
    rows, moves = sum(files.rows.values()) if exact else read, replace(moves, fewer=not exact)
    return Rest(table, files, StagedFiles(new, until=until), rows, gone, moves)
