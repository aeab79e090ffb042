"""The rows of an increment for Spark, with the columns that the input has now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.derive.positions.inputs import Increment
from frazil.formats.types import from_iceberg, spark_type
from frazil.quoting import quoted
from frazil.tables.catalogs.handle import name_of
from frazil.tables.changelog import changelog
from frazil.tables.spark.session import at_snapshot, spark_name

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame, SparkSession


def rows_in(spark: SparkSession, table: Table, new: Increment, *, went: bool = False) -> DataFrame:
    """The rows of an increment that came, or those that `went`."""
    if not new.changed:
        rows = rows_of(spark, table, new)
        return rows.limit(0) if went else rows
    start, end = (table.metadata.snapshot_by_id(i or 0) for i in (new.since, new.to.snapshot))
    assert start
    assert end
    gone, came = changelog(spark, table, start, end).net()
    return gone if went else came


def rows_of(spark: SparkSession, table: Table, new: Increment) -> DataFrame:
    """The rows of an increment, with the columns that the input has now."""
    name = name_of(table)
    if new.since is not None and new.rows:
        appended = spark.read.option("start-snapshot-id", str(new.since))
        return appended.option("end-snapshot-id", str(new.to.snapshot)).table(spark_name(name))
    present = at_snapshot(spark, name, new.to.snapshot)
    rows = _as_now(present, table, new.to.snapshot)
    return rows if new.since is None else rows.limit(0)


def _as_now(rows: DataFrame, table: Table, snapshot_id: int) -> DataFrame:
    """A snapshot is read with the columns that it was made with; names may have come and gone since."""
    snapshot = table.metadata.snapshot_by_id(snapshot_id)
    made_with = snapshot.schema_id if snapshot else None
    if made_with is None or made_with == table.metadata.current_schema_id:
        return rows
    now, then = table.schema(), table.schemas()[made_with]
    return rows.selectExpr(*(_column(then, field.field_id, field.name, now) for field in now.fields))


def _column(then: Schema, field_id: int, name: str, now: Schema) -> str:
    logical = from_iceberg(now).get(name)
    assert logical
    known = next((f.name for f in then.fields if f.field_id == field_id), None)
    value = quoted(known) if known else "NULL"
    return f"CAST({value} AS {spark_type(logical.type)}) AS {quoted(name)}"
