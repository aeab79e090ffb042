"""Which data files three engines open for a filter, as each one's own scan plan says.

A filter is text that all of them take, with names in double quotes: `"$$offset" >= 5 and symbol = 'A'`.
"""

from __future__ import annotations

import re
from typing import Any

from pyiceberg.table import Table

from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.spark.session import spark_name
from kit.readers.duck import duckdb_on
from kit.records.topics import Topic

_FILES = re.compile(r"Total Files Read:\s*(\d+)")


def table_of(topic: Topic) -> Table:
    """The topic's table as it is now."""
    return TableHandle(topic.connections.catalog, topic.things.table).load()


def data_files(topic: Topic) -> set[str]:
    """All data files of `main`."""
    return {task.file.file_path for task in table_of(topic).scan().plan_files()}


def files_with(topic: Topic, where: str) -> set[str]:
    """The files that do hold a row that fits; every file is read for it."""
    named, condition = spark_name(topic.things.table), _for_spark(where)
    query = f"SELECT _file FROM {named} GROUP BY _file HAVING bool_or({condition})"
    return {row[0] for row in topic.connections.spark.sql(query).collect()}


def opened_by_pyiceberg(topic: Topic, where: str) -> set[str]:
    """The files of PyIceberg's plan."""
    return {task.file.file_path for task in table_of(topic).scan(row_filter=where).plan_files()}


def opened_by_spark(topic: Topic, where: str) -> int:
    """How many files Spark's scan had left after pruning."""
    frame = topic.connections.spark.table(spark_name(topic.things.table)).where(_for_spark(where))
    frame.collect()
    assert frame.executionInfo
    _, nodes = frame.executionInfo.metrics.extract_graph()
    counts = [int(m.value) for n in nodes.values() for m in n.metrics if m.name == "resultDataFiles"]
    return sum(counts)


def opened_by_duckdb(topic: Topic, where: str) -> int:
    """How many files DuckDB read."""
    with duckdb_on(topic.connections.settings) as duck:
        scan = f"SELECT * FROM iceberg_scan('{table_of(topic).metadata_location}') WHERE {where}"
        plan: Any = duck.execute(f"EXPLAIN ANALYZE {scan}").fetchall()
    files = _FILES.search(plan[0][1])
    return int(files[1]) if files else 0


def _for_spark(where: str) -> str:
    return where.replace('"', "`")
