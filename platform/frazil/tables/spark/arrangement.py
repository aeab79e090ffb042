"""The order in which rows come to the tasks that write them, by Spark's shuffle and sort: as a table asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.quoting import quoted
from frazil.tables.spark.redaction import SPARK_CATALOG

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table
    from pyiceberg.transforms import Transform
    from pyspark.sql import Column, DataFrame

_DISTRIBUTION = "write.distribution-mode"

_OF_TIME = {"year": "years", "month": "months", "day": "days", "hour": "hours"}
"""Iceberg's functions by its transforms."""


def arranged(rows: DataFrame, table: Table, distribution: str = "") -> DataFrame:
    """Rows shuffled as the table says, or as it is said here, and in its sort order within each task.

    hash: all rows of a partition come to one task. range: each task has a range of the sort order.
    """
    mode = distribution or table.properties.get(_DISTRIBUTION, "none")
    places, order = _places(table), _order(table)
    if mode == "range" and (places or order):
        rows = rows.repartitionByRange(*places, *order)
    elif mode == "hash" and places:
        rows = rows.repartition(*places)
    return rows.sortWithinPartitions(*places, *order) if order else rows


def by_partition(rows: DataFrame, table: Table) -> DataFrame:
    """Rows of which all of one partition come to one task."""
    places = _places(table)
    return rows.repartition(*places) if places else rows


def _places(table: Table) -> list[Column]:
    """What tells a row's partition."""
    fields = (f for f in table.spec().fields if str(f.transform) != "void")
    return [_value(f.transform, table.schema(), f.source_id) for f in fields]


def _order(table: Table) -> list[Column]:
    """The table's sort order; a z-order is none that a table can note."""
    schema, columns = table.schema(), []
    for field in table.sort_order().fields:
        value = _value(field.transform, schema, field.source_id)
        way, nulls = field.direction.name.lower(), field.null_order.name.lower()
        columns.append(getattr(value, f"{way}_{nulls}")())
    return columns


def _value(transform: Transform[object, object], schema: Schema, column: int) -> Column:
    """What a transform makes of a column."""
    from pyspark.sql import functions as F

    from frazil.tables.writing.data_files import column_path

    word, _, size = str(transform).rstrip("]").partition("[")
    source = quoted(*column_path(schema, column))
    if word == "identity":
        return F.expr(source)
    function = quoted(SPARK_CATALOG, "system", _OF_TIME.get(word, word))
    return F.expr(f"{function}({size + ', ' if size else ''}{source})")
