"""One round of a compaction by columns: Spark's tasks read and write its files bin by bin.

For rows in partitions as they are, that stay as they come, or that one task can sort. What has to be shuffled
is a frame first, see `rewrite`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.exact import values_of
from frazil.spec.names import TableName
from frazil.spec.table import AnyTable
from frazil.tables.catalogs.handle import name_of
from frazil.tables.commits.replacement import same_rows
from frazil.tables.commits.stage import StagedFiles, audit_failed, audit_rows
from frazil.tables.metadata.manifests import Head
from frazil.tables.reading.delete_files import are_readable, deletes_by_file
from frazil.tables.spark.faults import files_there, spark_job
from frazil.tables.writing.unwritable import refuse_unwritable
from frazil.tables.writing.workers import latest_commit
from frazil.upkeep.compaction.plan import Round
from frazil.upkeep.compaction.rewrite import Rewritten, compaction_job

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table

    from frazil.tables.format_v3.row_ids import Origin
    from frazil.tables.writing.sorting import SortKey

    WithDeletes = list[tuple[DataFile, tuple[DataFile, ...]]]

_SORTED = 16 * 2**20
"""Bytes of files whose rows one task sorts: in memory they may be ten times as large, and are held twice."""


def rewrite_by_columns(
    connections: Connections, spec: AnyTable, table: Table, head: Head, plan: Round
) -> Rewritten | None:
    """Writes the files of one round anew; None where their rows have to be shuffled, or are not Parquet."""
    from frazil.tables.format_v3.row_ids import origins_of
    from frazil.tables.writing.sorting import sort_keys
    from frazil.tables.writing.task import took_of
    from frazil.tables.writing.transfer import files_written

    name = name_of(table)
    order = sort_keys(table.schema(), spec.sort_terms)
    if order is None or _shuffles(spec, plan):
        return None
    refuse_unwritable(table)
    with files_there(table):
        with_deletes = deletes_by_file(table, [head.entries[f.path] for f in plan.files])
    if not all(are_readable((file, *deletes)) for file, deletes in with_deletes):
        return None
    until = latest_commit(spec.upkeep.orphans_after)
    origins = origins_of(table, (head.entries[f.path] for f in plan.files))
    with spark_job(compaction_job(name)):
        returned = _run(connections, table, with_deletes, plan, order, origins)
    staged = StagedFiles(files_written(table, returned), until=until, took=took_of(returned))
    _audit(name, plan, with_deletes, staged, sum(values_of(returned["rows"])))
    return Rewritten(same_rows(head, {f.path for f in plan.files}, staged.files), staged)


def _audit(name: TableName, plan: Round, with_deletes: WithDeletes, staged: StagedFiles, read: int) -> None:
    """Compares what manifests say of the old files with what was read, and with the new files' footers.

    Where rows are deleted only reading tells how many there are.
    """
    rows, work = sum(f.records for f in plan.files), f"A compaction of {name}"
    numbers = f"{rows} rows in the {len(plan.files)} old ones, {read} were read"
    if read != rows and not any(deletes for _, deletes in with_deletes):
        raise audit_failed(work, numbers)
    audit_rows(staged, read, work, numbers)


def _shuffles(spec: AnyTable, plan: Round) -> bool:
    sorts = spec.sort_terms and any(b.into > 1 or b.bytes > _SORTED for b in plan.bins)
    return plan.older or bool(sorts)


def _run(
    connections: Connections,
    table: Table,
    with_deletes: WithDeletes,
    plan: Round,
    order: tuple[SortKey, ...],
    origins: Mapping[str, Origin],
) -> pa.Table:
    """What tasks say of each bin."""
    from frazil.tables.writing.transfer import FileBin, old_file, run_bins

    old = {f.file_path: old_file(table, f, deletes, origins.get(f.file_path)) for f, deletes in with_deletes}
    bins = [FileBin(tuple(old[f.path] for f in b.files), b.most) for b in plan.bins]
    half = max(1, connections.settings.spark.parallelism // 2)  # of the cores, or landings wait
    return run_bins(connections.background_spark, table, bins, half, order=order)
