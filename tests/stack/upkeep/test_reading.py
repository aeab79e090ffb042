"""A filtered read opens only the files it must, statistics are there, and history stays readable."""

from __future__ import annotations

import secrets
import time
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile

from frazil.landing.land import land
from frazil.tables.spark.session import spark_name
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.kind import Order
from kit.readers.duck import duckdb_on
from kit.readers.opened import (
    data_files,
    files_with,
    opened_by_duckdb,
    opened_by_pyiceberg,
    opened_by_spark,
    table_of,
)
from kit.records.topics import MakeTopic, Topic

KEEP = {"retention.ms": "-1"}
"""Else Kafka deletes records as soon as they are that old."""
DAYS = [datetime(2026, 11, day, 12, tzinfo=UTC) for day in (1, 2, 3)]
SYMBOLS = ("AMD", "AMZN", "GOOG", "IBM", "INTC", "MSFT", "NVDA", "ORCL")

ONE_DAY = "\"$$timestamp\" >= '2026-11-02T00:00:00+00:00' and \"$$timestamp\" < '2026-11-03T00:00:00+00:00'"
ONE_LANDING = '"$$offset" >= 16 and "$$offset" < 32'
LAYOUTS = [
    pytest.param(["day($$timestamp)"], ONE_DAY, id="day"),
    pytest.param(["hour($$timestamp)", "side"], f"{ONE_DAY} and side = 'SELL'", id="hour-and-identity"),
    pytest.param(["bucket(5, symbol)"], "symbol = 'IBM'", id="bucket"),
    pytest.param(["truncate(2, symbol)"], "symbol like 'AM%'", id="truncate"),
    pytest.param(["side"], "side = 'SELL'", id="identity"),
]

EVERY_TYPE: dict[str, Any] = {
    "type": "record",
    "name": "Everything",
    "fields": [
        {"name": "text", "type": "string"},
        {"name": "number", "type": "int"},
        {"name": "big", "type": "long"},
        {"name": "ratio", "type": "double"},
        {"name": "flag", "type": "boolean"},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "moment", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "maybe", "type": ["null", "string"], "default": None},
        {
            "name": "inner",
            "type": {"type": "record", "name": "Inner", "fields": [{"name": "deep", "type": "int"}]},
        },
    ],
}
LEAVES = ("text", "number", "big", "ratio", "flag", "day", "moment", "price", "maybe", "inner.deep")
METADATA = ("$$topic", "$$partition", "$$leader-epoch", "$$offset", "$$timestamp", "$$timestamp-type")
OPAQUE = ("$$raw-key", "$$raw-value")


def land_three_days(topic: Topic) -> list[int]:
    """One landing a day, each symbol bought and sold once; the snapshots."""
    snapshots = []
    for day in DAYS:
        values = [
            topic.encode({"side": side, "quantity": day.day, "symbol": symbol})
            for symbol in SYMBOLS
            for side in ("BUY", "SELL")
        ]
        topic.send(values, plain="a filter names offsets", timestamp=int(day.timestamp() * 1000))
        snapshots.append(land(topic.spec, topic.connections).snapshot_id or 0)
    return snapshots


def everything(number: int) -> dict[str, Any]:
    moment = datetime(2026, 11, 1, 0, number, tzinfo=UTC)
    return {
        "text": f"text {number}", "number": number, "big": number << 40, "ratio": number / 2, "flag": True,
        "day": moment.date(), "moment": moment, "price": Decimal(number),
        "maybe": None if number % 2 else "here", "inner": {"deep": number},
    }  # fmt: skip


def one_file(topic: Topic) -> DataFile:
    (task,) = table_of(topic).scan().plan_files()
    return task.file


def bounds(topic: Topic, file: DataFile, column: str) -> tuple[Any, Any]:
    field = table_of(topic).schema().find_field(column)
    both = (file.lower_bounds[field.field_id], file.upper_bounds[field.field_id])
    first, last = (from_bytes(field.field_type, bound) for bound in both)  # type: ignore[arg-type]
    return first, last


def assert_opens_only_what_it_must(topic: Topic, where: str) -> None:
    must = files_with(topic, where)
    assert must
    assert must < data_files(topic)
    assert opened_by_pyiceberg(topic, where) == must
    assert opened_by_spark(topic, where) == len(must)
    assert opened_by_duckdb(topic, where) == len(must)


@pytest.mark.each_time("identity")
@pytest.mark.parametrize(("partition_by", "where"), LAYOUTS)
def test_a_filter_opens_the_files_that_hold_its_rows_and_no_other(
    make_topic: MakeTopic, partition_by: list[str], where: str
) -> None:
    topic = make_topic(config=KEEP, partition_by=partition_by)
    land_three_days(topic)
    assert_opens_only_what_it_must(topic, where)

    compact(topic.spec, topic.connections, time.time(), Order(everything=True))
    assert_opens_only_what_it_must(topic, where)


def test_without_partitions_a_range_of_offsets_opens_the_landings_that_brought_it(
    make_topic: MakeTopic,
) -> None:
    topic = make_topic(config=KEEP)
    land_three_days(topic)

    assert_opens_only_what_it_must(topic, ONE_LANDING)


@pytest.mark.nightly
def test_a_sorted_table_opens_one_file_for_one_value(make_topic: MakeTopic) -> None:
    topic = make_topic(sort_by=["symbol"], write={"target_file_size": "64KiB"})
    schema_id = topic.register(topic.schema)
    symbols = [secrets.token_hex(100) for _ in range(3000)]
    for first in range(0, 3000, 1000):
        chosen = symbols[first : first + 1000]
        topic.send([topic.encode({"side": "BUY", "quantity": 1, "symbol": s}, schema_id) for s in chosen])
        land(topic.spec, topic.connections)
    where = f"symbol = '{symbols[7]}'"
    before = opened_by_pyiceberg(topic, where)

    compact(topic.spec, topic.connections, time.time(), Order(everything=True))

    assert len(before) == 3
    assert len(data_files(topic)) >= 3
    assert_opens_only_what_it_must(topic, where)
    assert opened_by_spark(topic, where) == 1


def test_every_column_has_statistics_but_opaque_bytes(make_topic: MakeTopic) -> None:
    topic = make_topic(metadata="full")
    topic.register_for(f"{topic.name}-value", EVERY_TYPE)
    topic.schema = EVERY_TYPE
    topic.send([topic.encode(everything(n)) for n in range(10)])
    land(topic.spec, topic.connections)

    file = one_file(topic)
    ids = {name: table_of(topic).schema().find_field(name).field_id for name in (*LEAVES, *METADATA, *OPAQUE)}

    assert all(file.value_counts[number] == 10 for number in ids.values())
    assert {name for name, number in ids.items() if file.null_value_counts[number]} == {"maybe"}
    assert file.null_value_counts[ids["maybe"]] == 5
    assert {name for name, number in ids.items() if number in file.lower_bounds} == {*LEAVES, *METADATA}
    assert file.lower_bounds.keys() == file.upper_bounds.keys()
    assert bounds(topic, file, "$$offset") == (0, 9)
    assert bounds(topic, file, "number") == bounds(topic, file, "inner.deep") == (0, 9)


def test_metadata_columns_behind_a_hundred_others_have_statistics_too(make_topic: MakeTopic) -> None:
    topic = make_topic()
    fields = [{"name": f"f{n}", "type": "int", "default": 0} for n in range(120)]
    topic.register_for(f"{topic.name}-value", {"type": "record", "name": "StockTrade", "fields": fields})
    topic.schema = {"type": "record", "name": "StockTrade", "fields": fields}
    topic.send([topic.encode({f["name"]: 1 for f in fields}) for _ in range(5)])
    land(topic.spec, topic.connections)

    assert bounds(topic, one_file(topic), "$$offset") == (0, 4)
    assert bounds(topic, one_file(topic), "$$partition") == (0, 0)
    assert bounds(topic, one_file(topic), "$$timestamp")[0] > 0
    assert bounds(topic, one_file(topic), "f119") == (1, 1)


@pytest.mark.nightly
def test_history_is_read_by_snapshot_and_by_time_after_compaction(make_topic: MakeTopic) -> None:
    topic = make_topic(config=KEEP)
    snapshots = land_three_days(topic)
    report = compact(topic.spec, topic.connections, time.time(), Order(everything=True))

    table = table_of(topic)
    times = [table.snapshot_by_id(s).timestamp_ms for s in snapshots]  # type: ignore[union-attr]

    assert (report.done, len(data_files(topic))) == (True, 1)
    assert [rows_by_snapshot(topic, s) for s in snapshots] == [[n] * 3 for n in (16, 32, 48)]
    assert [rows_by_time(topic, t) for t in times] == [[n] * 3 for n in (16, 32, 48)]


def rows_by_snapshot(topic: Topic, snapshot: int) -> list[int]:
    """By PyIceberg, Spark and DuckDB."""
    table = table_of(topic)
    return [
        table.scan(snapshot_id=snapshot).count(),
        counted_by_spark(topic, f"VERSION AS OF {snapshot}"),
        counted_by_duckdb(topic, f"snapshot_from_id => {snapshot}"),
    ]


def rows_by_time(topic: Topic, at: int) -> list[int]:
    table = table_of(topic)
    moment = datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    snapshot = table.snapshot_as_of_timestamp(at)
    assert snapshot
    return [
        table.scan(snapshot_id=snapshot.snapshot_id).count(),
        counted_by_spark(topic, f"TIMESTAMP AS OF '{moment}'"),
        counted_by_duckdb(topic, f"snapshot_from_timestamp => TIMESTAMP '{moment}'"),
    ]


def counted_by_spark(topic: Topic, point: str) -> int:
    query = f"SELECT count(1) FROM {spark_name(topic.things.table)} {point}"
    return int(topic.connections.spark.sql(query).collect()[0][0])


def counted_by_duckdb(topic: Topic, point: str) -> int:
    scan = f"iceberg_scan('{table_of(topic).metadata_location}', {point})"
    with duckdb_on(topic.connections.settings) as duck:
        row = duck.execute(f"SELECT count(*) FROM {scan}").fetchone()
    assert row
    return int(row[0])
