"""Rows of chosen data files as a frame: no snapshot has to name them, and no others are opened."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

from frazil.quoting import quoted
from frazil.tables.format_v3.fields import NAMES, has_row_ids
from frazil.tables.reading.parts import Planned, names_of, packed, planned

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile, ManifestEntry
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame, SparkSession

    from frazil.tables.reading.part import PartReader

PATH = "_file"
"""A column with the path of each row's file, called as Spark's reader of Iceberg calls it."""

_CLAIMED = 10_000_000
"""Rows that Spark is told of at most: enough that it takes none of them to every task for a join."""


def files_frame(
    spark: SparkSession,
    table: Table,
    files: Iterable[DataFile],
    columns: Collection[str] | None = None,
    *,
    with_path: bool = False,
) -> DataFrame:
    """The rows of some data files, in the columns that the table has now; delete files are not looked at.

    Args:
        files: Parquet files, whether a snapshot names them or not.
        columns: Those that are read; None: all.
        with_path: Adds `PATH`.

    Raises:
        PySparkException: As it is read: a file is gone, or what it holds does not fit the table.
    """
    plan = planned(table, ((file, ()) for file in files))
    return _frame(spark, table, plan, columns, with_path)


def _frame(
    spark: SparkSession,
    table: Table,
    plan: Planned,
    columns: Collection[str] | None,
    with_path: bool,
    *,
    with_row_ids: bool = False,
) -> DataFrame:
    reader = reader_of(table, plan, columns, with_path=with_path, with_row_ids=with_row_ids)
    rows = _in_tasks(spark, reader, plan.rows)
    ids = NAMES.values() if with_row_ids else ()
    titles = [*_columns(table, columns), *ids, *([PATH] if with_path else [])]
    named = zip(reader.schema.names, titles, strict=True)
    return rows.selectExpr(*(f"{column} AS {quoted(title)}" for column, title in named))


def _columns(table: Table, columns: Collection[str] | None) -> list[str]:
    return [f.name for f in table.schema().fields if columns is None or f.name in columns]


def reader_of(
    table: Table,
    plan: Planned,
    columns: Collection[str] | None = None,
    *,
    with_path: bool = False,
    with_row_ids: bool = False,
) -> PartReader:
    """What reads parts of a table's files, see `files_frame`; its columns are called c0, c1, ..."""
    from frazil.tables.reading.columns import FileReader
    from frazil.tables.reading.part import PartReader
    from frazil.tables.reading.schema import read_schema

    names = set(_columns(table, columns))
    own = (f for f in table.schema().fields if f.name in names)
    schema = read_schema(own, with_path=with_path, with_row_ids=with_row_ids)
    files = FileReader(names_of(table.properties), plan.stores)
    return PartReader(schema, packed(plan.parts), plan.deletes, files, version("frazil"))


def _in_tasks(spark: SparkSession, reader: PartReader, rows: int) -> DataFrame:
    """The rows of each bin by a task. Spark guesses their bytes by how many numbers come in."""
    from frazil.tables.spark.session import in_tasks

    tasks = max(1, len(reader.bins))
    step = max(1, min(rows, _CLAIMED) // tasks)
    own = f"id % {step} = 0 AND id < {step * len(reader.bins)}"
    numbers = spark.range(0, tasks * step, 1, tasks).where(own)
    return in_tasks(numbers, {"id": f"id DIV {step}"}, reader.run, reader.schema)


def live_frame(
    spark: SparkSession,
    table: Table,
    entries: Iterable[ManifestEntry],
    columns: Collection[str] | None = None,
    *,
    with_path: bool = False,
    moves: bool = False,
) -> DataFrame:
    """The rows that some data files of a table's head hold, without those that its delete files take away.

    Files of other formats, or with such deletes, Spark reads by itself: it opens all files of the head then.

    Args:
        columns: Those that are read; None: all.
        with_path: Adds `PATH`.
        moves: Whether the rows go into other files: adds the columns of their ids, where they have some.

    Raises:
        PySparkException: See `files_frame`.
    """
    from frazil.tables.format_v3.row_ids import origins_of
    from frazil.tables.reading.delete_files import are_readable, deletes_by_file

    data = tuple(entries)
    by_file = deletes_by_file(table, data)
    with_ids = moves and has_row_ids(table)
    origins = origins_of(table, data) if moves else {}
    own = [(file, deletes) for file, deletes in by_file if are_readable((file, *deletes))]
    others = [file.file_path for file, deletes in by_file if not are_readable((file, *deletes))]
    rows = _frame(spark, table, planned(table, own, origins), columns, with_path, with_row_ids=with_ids)
    return rows.unionByName(_by_spark(spark, table, others, rows.columns)) if others else rows


def taken_frame(
    spark: SparkSession,
    table: Table,
    entries: Iterable[ManifestEntry],
    taking: Mapping[str, Sequence[DataFile]],
) -> DataFrame:
    """The rows of some data files of a table's head that other delete files take away than its own, with ids.

    Args:
        taking: Those delete files, by the path of the data file. Tasks can read all, see `are_readable`.
    """
    from frazil.tables.format_v3.row_ids import origins_of
    from frazil.tables.reading.delete_files import deletes_by_file

    data = tuple(entries)
    plan = planned(table, deletes_by_file(table, data), origins_of(table, data), taking)
    return _frame(spark, table, plan, None, False, with_row_ids=True)


def _by_spark(spark: SparkSession, table: Table, paths: Sequence[str], columns: Sequence[str]) -> DataFrame:
    """Rows of some files of the head. Spark can't be told to open no others."""
    import pyarrow as pa
    from pyspark.sql import functions as F

    from frazil.spec.names import TableName
    from frazil.tables.spark.session import at_snapshot

    named = spark.createDataFrame(pa.table({_CHOSEN: pa.array(paths)}))
    head = at_snapshot(spark, TableName(*table.name()), table.metadata.current_snapshot_id or 0)
    ids = NAMES.values() if set(NAMES.values()) <= set(columns) else ()
    chosen = head.selectExpr("*", PATH, *ids).join(F.broadcast(named), F.expr(f"{PATH} = {quoted(_CHOSEN)}"))
    return chosen.select(*map(quoted, columns))


_CHOSEN = "$frazil_chosen"
