"""Files that tasks read hold what Spark's own reader of Iceberg finds in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyiceberg.table import Table
from pyspark.sql import DataFrame
from pyspark.sql.types import DataType

from frazil.connections import Connections
from frazil.spec.names import TableName
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.metadata.manifests import HeadReader
from frazil.tables.reading.frame import files_frame, live_frame
from frazil.tables.spark.session import spark_name
from kit.tables.delete_files import delete_by_equality

TYPES = """
    number INT, small FLOAT, money DECIMAL(9, 2), day DATE, moment TIMESTAMP, raw BINARY,
    yes BOOLEAN, `odd-name` STRING, place STRUCT<x: INT, `y-z`: STRING, gone: STRING>,
    tags ARRAY<STRUCT<name: STRING, gone: INT>>, counts MAP<STRING, STRUCT<n: INT, m: STRING>>, dropped STRING
"""


@pytest.fixture
def name(lake: Connections, fresh_name: str) -> Iterator[TableName]:
    name = TableName("read_tests", fresh_name)
    lake.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {spark_name(name).rpartition('.')[0]}").collect()
    yield name
    lake.spark.sql(f"DROP TABLE IF EXISTS {spark_name(name)} PURGE").collect()


VALUES = """
    n, CAST(n AS FLOAT) / 3, n + 0.25, date_add(DATE'2020-01-01', n), timestamp_millis(n * 86400123),
    CAST(concat('r', n) AS BINARY), n % 2 = 0, concat('odd', n),
    named_struct('x', n, 'y-z', concat('y', n), 'gone', 'g'),
    array(named_struct('name', concat('t', n), 'gone', n), NULL),
    map(concat('k', n), named_struct('n', n, 'm', 'm'), 'null', NULL), 'dropped'
"""
NULLS = ", ".join(["NULL"] * 11)


def seen(rows: DataFrame) -> list[str]:
    """Rows as texts, in an order."""
    return sorted(map(str, (row.asDict(recursive=True) for row in rows.collect())))


def kinds(rows: DataFrame) -> list[tuple[str, DataType, bool]]:
    return [(field.name, field.dataType, field.nullable) for field in rows.schema]


def files_in(table: Table) -> list[Any]:
    head = HeadReader().read(table)
    assert head
    return [entry.data_file for entry in head.entries.values()]


def read_both(lake: Connections, name: TableName) -> tuple[DataFrame, DataFrame]:
    """What tasks read of all files, and what Spark reads of the table."""
    table = TableHandle(lake.catalog, name).load()
    mine = files_frame(lake.spark, table, files_in(table), with_path=True)
    return mine, lake.spark.table(spark_name(name)).selectExpr("*", "_file")


def test_columns_are_those_of_their_ids_whatever_became_of_them(lake: Connections, name: TableName) -> None:
    table = spark_name(name)
    lake.spark.sql(f"CREATE TABLE {table} ({TYPES}) USING iceberg")
    lake.spark.sql(f"INSERT INTO {table} SELECT {VALUES} FROM VALUES 1, 2, 3 AS v(n)").collect()
    lake.spark.sql(f"INSERT INTO {table} SELECT 4, {NULLS}").collect()
    for change in (
        "RENAME COLUMN `odd-name` TO `other-name`", "ALTER COLUMN number TYPE BIGINT",
        "ALTER COLUMN small TYPE DOUBLE", "ALTER COLUMN money TYPE DECIMAL(20, 2)", "DROP COLUMN dropped",
        "ADD COLUMN dropped INT", "RENAME COLUMN place.x TO moved", "DROP COLUMN place.gone",
        "ADD COLUMN place.gone INT", "ADD COLUMN place.inner STRUCT<deep: STRING>",
        "DROP COLUMN tags.element.gone", "ALTER COLUMN counts.value.n TYPE BIGINT",
        "ADD COLUMN counts.value.late STRING", "ALTER COLUMN raw FIRST", "ADD COLUMN `new-one` ARRAY<INT>",
    ):  # fmt: skip
        lake.spark.sql(f"ALTER TABLE {table} {change}").collect()

    mine, theirs = read_both(lake, name)

    assert kinds(mine) == kinds(theirs)
    assert seen(mine) == seen(theirs)
    assert mine.count() == 4
    known = TableHandle(lake.catalog, name).load()
    assert files_frame(lake.spark, known, ()).collect() == []
    (one, *_) = files_in(known)
    some = files_frame(lake.spark, known, [one], ["other-name", "new-one"], with_path=True)
    assert some.columns == ["other-name", "new-one", "_file"]
    assert seen(some) == seen(
        theirs.where(f"_file = '{one.file_path}'").select(*(f"`{c}`" for c in some.columns))
    )


@pytest.mark.nightly
def test_rows_of_large_files_are_not_taken_to_every_task_for_a_join(
    lake: Connections, name: TableName
) -> None:
    lake.spark.sql(f"CREATE TABLE {spark_name(name)} (id BIGINT) USING iceberg")
    lake.spark.sql(f"INSERT INTO {spark_name(name)} SELECT id FROM range(3000000)").collect()
    table = TableHandle(lake.catalog, name).load()
    rows = files_frame(lake.spark, table, files_in(table))

    joined = lake.spark.range(10_000_000).join(rows, "id")

    assert "Broadcast" not in joined._explain_string()
    assert rows.selectExpr("count(id)", "sum(id)").collect()[0][:] == (3_000_000, 2_999_999 * 1_500_000)


@pytest.mark.nightly
def test_rows_that_others_deleted_are_not_among_what_files_hold(lake: Connections, name: TableName) -> None:
    """Of files that are not Parquet, too, which Spark reads."""
    table = spark_name(name)
    lake.spark.sql(
        f"CREATE TABLE {table} (n BIGINT, text STRING) USING iceberg "
        "TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read')"
    )
    for start in (0, 10):
        lake.spark.sql(
            f"INSERT INTO {table} SELECT id, concat('t', id % 3) FROM range({start}, {start + 10})"
        )
    lake.spark.sql(f"DELETE FROM {table} WHERE n IN (1, 2, 11)").collect()
    known = TableHandle(lake.catalog, name).load()
    delete_by_equality(known, n=5)
    delete_by_equality(known, n=6, text="t0")
    delete_by_equality(known, n=7, text="t0")
    lake.spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('write.format.default' = 'orc')").collect()
    lake.spark.sql(f"INSERT INTO {table} VALUES (5, 'again'), (20, 'a'), (21, 'b')").collect()
    lake.spark.sql(f"DELETE FROM {table} WHERE n = 20").collect()

    known = TableHandle(lake.catalog, name).load()
    entries = HeadReader().read(known)
    assert entries
    mine = live_frame(lake.spark, known, entries.entries.values(), with_path=True)
    orc = [e for path, e in entries.entries.items() if path.endswith(".orc")]

    assert seen(mine) == seen(lake.spark.table(table).selectExpr("*", "_file"))
    assert mine.count() == 17
    assert sorted(row["n"] for row in live_frame(lake.spark, known, orc, ["n"]).collect()) == [5, 21]
