"""One round of a compaction by columns: Spark's tasks read and write its files themselves.

For rows that stay as they come, in partitions as they are. What is sorted, cut by new partitions or has
deleted rows, Iceberg's own procedure rewrites.
"""

from __future__ import annotations

import time
import uuid
from importlib.metadata import version
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.errors import FrazilError
from frazil.spec.names import TableName
from frazil.spec.table import AnyTable
from frazil.tables.data_files import data_file, file_layout, takes_files
from frazil.tables.faults import spark_job
from frazil.tables.manifests import Head
from frazil.tables.replacement import same_rows
from frazil.tables.stage import StagedFiles, audit_failed, audit_rows
from frazil.tables.workers import are_open, give_up, lifetime
from frazil.upkeep.compaction.bins import Bin
from frazil.upkeep.compaction.plan import Round
from frazil.upkeep.compaction.rewrite import Rewritten, compaction_job

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table

_LARGEST, _ROOM = 2**62, 1.1
"""Bytes of a file that is not cut; and what one of several may have of its share, for encodings differ."""

_IN_MEMORY = 256 * 2**20
"""Bytes of a new file of a partition, which waits in memory until it is done."""


def rewrite_by_columns(
    connections: Connections, spec: AnyTable, name: TableName, table: Table, head: Head, plan: Round
) -> Rewritten | None:
    """Writes the files of one round anew, and no branch names them; None where Spark has to do it."""
    lives = lifetime(spec.upkeep.orphans_after)
    if lives is None or not _takes(connections, spec, table, head, plan):
        return None
    begun, spark = time.time(), connections.background_spark
    try:
        with spark_job(compaction_job(name)):
            found = _run(connections, table, plan)
    except FrazilError as e:
        give_up(spark, e, "rewrites these files", {"table": str(name)})
        return None
    staged = StagedFiles(_files(table, found), until=begun + lives)
    _audit(name, plan, staged, sum(found["rows"].to_pylist()))
    return Rewritten(same_rows(head, {f.path for f in plan.files}, staged.files), staged, 0)


def _audit(name: TableName, plan: Round, staged: StagedFiles, read: int) -> None:
    """Compares what manifests say of the old files with what was read, and with the new files' footers."""
    rows, work = sum(f.records for f in plan.files), f"A compaction of {name}"
    numbers = f"{rows} rows in the {len(plan.files)} old ones, {read} were read"
    if read != rows:
        raise audit_failed(work, numbers)
    audit_rows(staged, rows, work, numbers)


def _takes(connections: Connections, spec: AnyTable, table: Table, head: Head, plan: Round) -> bool:
    from pyiceberg.manifest import FileFormat

    settings = connections.settings
    moved = plan.older or spec.sort_terms or head.delete_manifests
    theirs = settings.spark.lane == "spark" or settings.s3.kms_key or not takes_files(table)
    entries = (head.entries[f.path].data_file for f in plan.files)
    if moved or theirs or any(f.file_format != FileFormat.PARQUET for f in entries):
        return False
    held = max(b.bytes for b in plan.bins) if table.spec().fields else 0
    return held <= _IN_MEMORY and are_open(connections.background_spark)


def _run(connections: Connections, table: Table, plan: Round) -> pa.Table:
    """What tasks say of each bin."""
    from pyspark.sql.pandas.types import from_arrow_schema

    from frazil.upkeep.compaction.task import RETURNED, Bins, OldFile

    bins = tuple((tuple(OldFile(f.path, f.bytes) for f in b.files), _most(b)) for b in plan.bins)
    work = Bins(file_layout(table), bins, str(uuid.uuid4()), version("frazil"))
    # Half of the cores at most, or landings wait.
    tasks = min(len(bins), max(1, connections.settings.spark.parallelism // 2))
    numbers = connections.background_spark.range(0, len(bins), 1, tasks)
    return numbers.mapInArrow(work.run, from_arrow_schema(RETURNED)).toArrow()


def _most(bin_: Bin) -> int:
    """Bytes of each new file, so that they are as many as were planned."""
    return int(_ROOM * bin_.bytes / bin_.into) if bin_.into > 1 else _LARGEST


def _files(table: Table, found: pa.Table) -> tuple[DataFile, ...]:
    from frazil.tables.parquet import WrittenFile

    told = (WrittenFile(**file) for of_bin in found["files"].to_pylist() for file in of_bin)
    return tuple(data_file(table, file) for file in told)
