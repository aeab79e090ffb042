"""One round of a compaction by columns: Spark's tasks read and write its files themselves.

For rows in partitions as they are, that stay as they come, or that one task can sort. What has to be shuffled
or has deleted rows, Spark reads.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.errors import FrazilError
from frazil.exact import values_of
from frazil.spec.names import TableName
from frazil.spec.table import AnyTable
from frazil.tables.faults import spark_job
from frazil.tables.manifests import Head
from frazil.tables.replacement import same_rows
from frazil.tables.stage import StagedFiles, audit_failed, audit_rows
from frazil.tables.workers import give_up, lifetime, may_rewrite
from frazil.upkeep.compaction.plan import Round
from frazil.upkeep.compaction.rewrite import Rewritten, compaction_job

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.table import Table

    from frazil.tables.sorting import SortKey

_SORTED = 16 * 2**20
"""Bytes of files whose rows one task sorts: in memory they may be ten times as large, and are held twice."""


def rewrite_by_columns(
    connections: Connections, spec: AnyTable, name: TableName, table: Table, head: Head, plan: Round
) -> Rewritten | None:
    """Writes the files of one round anew, and no branch names them; None where Spark has to do it."""
    from frazil.tables.sorting import sort_keys
    from frazil.tables.transfer import files_written

    lives, order = lifetime(spec.upkeep.orphans_after), sort_keys(table.schema(), spec.sort_terms)
    if order is None or not _takes(connections, spec, table, head, plan):
        return None
    begun, spark = time.time(), connections.background_spark
    try:
        with spark_job(compaction_job(name)):
            found = _run(connections, table, head, plan, order)
    except FrazilError as e:
        give_up(spark, e, "rewrites these files", str(name))
        return None
    staged = StagedFiles(files_written(table, found), until=begun + lives)
    _audit(name, plan, staged, sum(values_of(found["rows"])))
    return Rewritten(same_rows(head, {f.path for f in plan.files}, staged.files), staged)


def _audit(name: TableName, plan: Round, staged: StagedFiles, read: int) -> None:
    """Compares what manifests say of the old files with what was read, and with the new files' footers."""
    rows, work = sum(f.records for f in plan.files), f"A compaction of {name}"
    numbers = f"{rows} rows in the {len(plan.files)} old ones, {read} were read"
    if read != rows:
        raise audit_failed(work, numbers)
    audit_rows(staged, rows, work, numbers)


def _takes(connections: Connections, spec: AnyTable, table: Table, head: Head, plan: Round) -> bool:
    shuffles = spec.sort_terms and any(b.into > 1 or b.bytes > _SORTED for b in plan.bins)
    if plan.older or shuffles or head.delete_manifests:
        return False
    entries = [head.entries[f.path].data_file for f in plan.files]
    held = max(b.bytes for b in plan.bins)
    return may_rewrite(connections.background_spark, table, entries, held)


def _run(
    connections: Connections, table: Table, head: Head, plan: Round, order: tuple[SortKey, ...]
) -> pa.Table:
    """What tasks say of each bin."""
    from frazil.tables.transfer import FileBin, old_file, run_bins

    old = {f.path: old_file(table, head.entries[f.path].data_file) for f in plan.files}
    bins = [FileBin(tuple(old[f.path] for f in b.files), b.most) for b in plan.bins]
    half = max(1, connections.settings.spark.parallelism // 2)  # of the cores, or landings wait
    return run_bins(connections.background_spark, table, bins, half, order=order)
