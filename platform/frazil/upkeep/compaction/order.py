"""Rows of a round in the order in which tasks write them: bin by bin, and sorted as the spec says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from frazil.quoting import quoted
from frazil.spec.table import SortTerm
from frazil.tables.spark.arrangement import by_partition
from frazil.upkeep.compaction.bins import Bin

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyspark.sql import Column, DataFrame

_FILE, _BIN, _PLACE = "$frazil_file", "$frazil_bin", "$frazil_place_"


def in_partitions(frame: DataFrame, table: Table, order: Sequence[SortTerm]) -> DataFrame:
    """Rows of older layouts: a task has all of a partition as it is now, in order."""
    placed, columns = _placed(frame, order)
    rows = by_partition(placed, table)
    return rows.sortWithinPartitions(*columns) if columns else rows


def by_bins(frame: DataFrame, bins: Sequence[Bin], order: Sequence[SortTerm]) -> DataFrame:
    """A task for each bin, in order."""
    from pyspark.sql import functions as F

    placed, columns = _placed(_with_files(frame, bins), order)
    rows = placed.repartitionById(len(bins), F.col(quoted(_BIN)))
    return rows.sortWithinPartitions(*columns) if columns else rows


def cut(rows: DataFrame, into: int, order: Sequence[SortTerm]) -> DataFrame:
    """The rows of one bin: where they are sorted, a task for each new file has a range of the order."""
    placed, columns = _placed(rows, order)
    if not columns:
        return placed.coalesce(1)
    return placed.repartitionByRange(into, *columns).sortWithinPartitions(*columns)


def _with_files(rows: DataFrame, bins: Sequence[Bin]) -> DataFrame:
    """The rows of some bins' files, each with the number of its bin."""
    import pyarrow as pa
    from pyspark.sql import functions as F

    numbered = [(file.path, number) for number, bin_ in enumerate(bins) for file in bin_.files]
    paths, numbers = zip(*numbered, strict=True)
    of = rows.sparkSession.createDataFrame(
        pa.table({_FILE: pa.array(paths), _BIN: pa.array(numbers, pa.int32())})
    )
    return rows.selectExpr("*", f"_file AS {quoted(_FILE)}").join(F.broadcast(of), _FILE)


def _placed(rows: DataFrame, order: Sequence[SortTerm]) -> tuple[DataFrame, list[Column]]:
    """Rows with what a z-order needs, and the columns that they are sorted by."""
    from pyspark.sql import functions as F

    columns = []
    for number, term in enumerate(order):
        sources = [F.col(quoted(*column.split("."))) for column in term.columns]
        if term.zorder:
            place = f"{_PLACE}{number}"
            rows, sources = rows.withColumn(place, _curve(sources)), [F.col(quoted(place))]
        way, nulls = "asc" if term.ascending else "desc", "first" if term.nulls_first else "last"
        columns.append(getattr(sources[0], f"{way}_nulls_{nulls}")())
    return rows, columns


def _curve(columns: Sequence[Column]) -> Column:
    from pyspark.sql import functions as F

    from frazil.formats.types import arrow_function
    from frazil.upkeep.compaction.zorder import interleaved

    named = [column.alias(f"c{number}") for number, column in enumerate(columns)]
    curve: Column = arrow_function(interleaved, "binary")(F.struct(*named))
    return curve
