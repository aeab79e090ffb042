"""Data files written again without the rows that are past, on a branch that nobody reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.errors import AuditFailedError, CommitConflictError
from frazil.spec.names import TableName
from frazil.tables.catalog import load_table
from frazil.tables.faults import Job, spark_job
from frazil.tables.heads import through
from frazil.tables.snapshots import ancestors
from frazil.tables.spark import spark_name
from frazil.tables.stage import added_files
from frazil.upkeep.past_rows import Cutoff, PastRows

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table
    from pyspark.sql import Column


__all__ = ["Survivors", "write_survivors"]

_MARK = "frazil.plan"
"""In summaries of snapshots that are a branch's, and never on `main`."""


@dataclass(frozen=True)
class Survivors:
    """What stays of some data files.

    Args:
        replaced: Paths of the files that were read.
        deletes: Manifests of delete files that were applied.
        files: What was written instead.
        expired: Rows that were left out.
        branch: Where it lies; empty where nothing had to be read.
    """

    replaced: frozenset[str] = frozenset()
    deletes: frozenset[str] = frozenset()
    files: tuple[DataFile, ...] = ()
    expired: int = 0
    branch: str = ""

    def fit(self, past: PastRows, spec_id: int) -> bool:
        """Whether they still stand for the mixed files, of a later head perhaps."""
        same = (self.replaced, self.deletes) == (past.mixed_paths, past.deletes)
        return same and all(file.spec_id == spec_id for file in self.files)


def write_survivors(
    connections: Connections, name: TableName, table: Table, past: PastRows, cutoff: Cutoff, branch: str
) -> Survivors:
    """Reads the mixed files with whatever deletes rows in them, and writes what is not past.

    Args:
        connections: The outside systems.
        name: The table.
        table: As loaded; the files are of its head.
        past: Whose mixed files are meant.
        cutoff: What is past.
        branch: A name for the branch.

    Raises:
        AuditFailedError: What was written is not what was read less what is past.
        CommitConflictError: Another commit came in between.
    """
    if not past.mixed:
        return Survivors(deletes=past.deletes)
    _make_branch(name, table, past, branch)
    read, expired = _append(connections, name, cutoff, branch)
    made = load_table(connections.catalog, name)
    files = tuple(added_files(made, next(ancestors(made.metadata, branch))))
    _audit(name, read, expired, files)
    return Survivors(past.mixed_paths, past.deletes, files, expired, branch)


def _make_branch(name: TableName, table: Table, past: PastRows, branch: str) -> None:
    from frazil.tables.swap import Narrow

    tx = table.transaction()
    Narrow(tx, branch, {_MARK: "row expiry"}, past.mixed).commit()
    if not through(tx.commit_transaction):
        raise CommitConflictError(
            f"Another commit to {name} came in between.",
            meaning="The table is as the others left it.",
            todo="Try again.",
        )


def _append(connections: Connections, name: TableName, cutoff: Cutoff, branch: str) -> tuple[int, int]:
    """Rows read and rows left out, as Spark counted them on the way."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    counts, place = Observation("row_expiry"), spark_name(name, branch)
    counters = (F.expr("count(1)").alias("read"), F.expr(f"count_if({cutoff.sql})").alias("past"))
    job = Job("row expiry", str(name), "No row is lost or doubled.", "Try again.")
    with spark_job(job):
        rows = connections.background_spark.table(place).observe(counts, *counters)
        stay = rows.where(f"NOT coalesce({cutoff.sql}, false)")
        stay.writeTo(place).option(f"snapshot-property.{_MARK}", "row expiry").option(
            "fanout-enabled", "true"
        ).append()
        counted = counts.get or _asked(connections, name, branch, counters)
    return counted["read"], counted["past"]


def _asked(
    connections: Connections, name: TableName, branch: str, counters: Iterable[Column]
) -> dict[str, int]:
    """The same once more: a busy Connect server waits 100 ms for what was observed, and then sends none."""
    tip = next(ancestors(load_table(connections.catalog, name).metadata, branch))
    read = connections.background_spark.read.option("versionAsOf", str(tip.parent_snapshot_id))
    counted: dict[str, int] = read.table(spark_name(name)).agg(*counters).collect()[0].asDict()
    return counted


def _audit(name: TableName, read: int, expired: int, files: Iterable[DataFile]) -> None:
    written = sum(file.record_count for file in files)
    if read - expired != written:
        raise AuditFailedError(
            f"A row expiry of {name} does not add up.",
            where=f"{read} rows read, {expired} of them past, {written} written",
            meaning="Nothing of it is visible; the table is as it was.",
            todo="Try again. If it happens twice, it is a defect of Frazil: please report these numbers.",
        )
