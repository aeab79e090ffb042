"""One round of a compaction whose rows Spark shuffles: tasks read the old files, and write the new ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.errors import OvertakenError
from frazil.spec.names import TableName
from frazil.spec.table import AnyTable, SortTerm
from frazil.tables.catalogs.handle import name_of
from frazil.tables.commits.replacement import Replacement, same_rows
from frazil.tables.commits.stage import StagedFiles, audit_rows
from frazil.tables.metadata.files import LARGEST
from frazil.tables.metadata.manifests import Head, delete_manifests
from frazil.tables.reading.frame import live_frame
from frazil.tables.spark.faults import Job, cause_line, files_there, is_file_gone, spark_job
from frazil.tables.writing.workers import latest_commit
from frazil.upkeep.compaction.bins import Bin
from frazil.upkeep.compaction.plan import Round

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame, SparkSession

AGAIN = "Nothing: the upkeep sensor tries again; so does `frazil compact`."
"""What to do where others commit all the time."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A round that is written and audited; nothing of it is visible on `main`."""

    what: Replacement
    staged: StagedFiles


def rewrite(connections: Connections, spec: AnyTable, table: Table, head: Head, plan: Round) -> Rewritten:
    """Writes the files of one round anew, without rows that were deleted.

    Rows of a file stay as they come where the spec sorts nothing.
    """
    name = name_of(table)
    until = latest_commit(spec.upkeep.orphans_after)
    entries, spark = [head.entries[f.path] for f in plan.files], connections.background_spark
    with files_there(table):
        frame = live_frame(spark, table, entries, (), with_path=True) if delete_manifests(table) else None
    with spark_job(compaction_job(name)):
        rows = sum(f.records for f in plan.files) if frame is None else frame.count()
        files = _written(spark, table, head, plan, spec.sort_terms)
    staged = StagedFiles(files, until=until)
    audit_rows(staged, rows, f"A compaction of {name}", f"{rows} rows in the {len(plan.files)} old ones")
    return Rewritten(same_rows(head, {f.path for f in plan.files}, staged.files), staged)


def _written(
    spark: SparkSession, table: Table, head: Head, plan: Round, order: Sequence[SortTerm]
) -> tuple[DataFile, ...]:
    from frazil.tables.writing.insertion import insert_rows
    from frazil.upkeep.compaction.order import by_bins, cut, in_partitions

    def live(*bins: Bin) -> DataFrame:
        entries = [head.entries[file.path] for each in bins for file in each.files]
        return live_frame(spark, table, entries, with_path=True, moves=True)

    if plan.older:
        return insert_rows(in_partitions(live(*plan.bins), table, order), table)
    one = [bin_ for bin_ in plan.bins if bin_.into == 1]
    files = insert_rows(by_bins(live(*one), one, order), table, LARGEST) if one else ()
    for bin_ in (b for b in plan.bins if b.into > 1):
        target = LARGEST if order else bin_.most
        files += insert_rows(cut(live(bin_), bin_.into, order), table, target)
    return files


def compaction_job(name: TableName) -> Job:
    """What a failed Spark job of a compaction means."""
    again = "Try again; `frazil orphans` removes leftovers."

    def gone(text: str) -> OvertakenError | None:
        if not is_file_gone(text):
            return None
        return OvertakenError(
            f"A compaction of {name} was overtaken: others took a file that it read, and it expired.",
            where=cause_line(text),
            meaning="The table is as the others left it; nothing of this compaction is visible.",
            todo="Nothing: the next compaction takes the files that are there then.",
        )

    return Job("compaction", str(name), "No row is lost or doubled.", again, known=gone)
