"""Dates and moments that Python's own can't hold, in records and of records: they land, and live on."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource
from pyiceberg.table import Table

from frazil.checks.run import checks_of, run_check
from frazil.cli.views.sandbox import Rows, sandbox
from frazil.clients import Clients
from frazil.derive.feeds.feed import feed
from frazil.errors import RepairError, SuspendedError
from frazil.kafka.clients import client_config
from frazil.landing.halts.resume import resume
from frazil.landing.land import land
from frazil.landing.repairs.redrive import redrive
from frazil.landing.replay.run import replay
from frazil.settings.profile import Settings
from frazil.spec.table import AnyTable
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.forgetting.condition import condition_of
from frazil.upkeep.forgetting.forget import forget
from frazil.upkeep.kind import Order
from kit.derived.made import make_made
from kit.formats.formats import MakeSource, Source, avro, in_numbers
from kit.records.envelopes import captured
from kit.records.topics import Topic, topic_maker
from kit.records.upserts import Upserts, by_key, upserts
from kit.runs.waiting import PATIENCE

FAR = [  # days, microseconds: PostgreSQL's infinity as Debezium sends it, and the years 10000, 0 and -1
    (2_932_897, 9_223_372_036_825_200_000),
    (-719_163, -62_135_596_800_000_001),
    (-719_529, -9_223_372_036_832_400_000),
]
MICROS = {"type": "long", "logicalType": "timestamp-micros"}
SCHEMA = {
    "type": "record",
    "name": "Moments",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "at", "type": MICROS},
        {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
        {"name": "many", "type": {"type": "array", "items": MICROS}},
    ],
}  # fmt: skip
LONGEST = 2**63 - 1
TOO_LATE = [1_795_612_753_273_000_000, LONGEST]
"""Milliseconds that a long of microseconds can't hold: nanoseconds by mistake, and no time at all."""


def takes_any_time(topic: Source) -> None:
    """Brokers before 4.0 do by default."""
    named = ConfigResource(ConfigResource.Type.TOPIC, topic.spec.topic)
    named.add_incremental_config(
        ConfigEntry(
            "message.timestamp.after.max.ms", str(LONGEST), incremental_operation=AlterConfigOpType.SET
        )
    )
    named.add_incremental_config(
        ConfigEntry("retention.ms", "-1", incremental_operation=AlterConfigOpType.SET)
    )
    for done in topic.connections.admin.incremental_alter_configs([named]).values():
        done.result(PATIENCE)


def produce(topic: Source, *records: tuple[bytes, int]) -> None:
    """Produces values with the times of their records; fails where the broker refuses one."""
    refused: list[object] = []
    producer = Producer(client_config(topic.connections.settings))
    for value, at in records:
        producer.produce(
            topic.spec.topic, value, None, 0, timestamp=at, on_delivery=lambda error, _: refused.append(error)
        )
    assert producer.flush(PATIENCE) == 0
    assert [error for error in refused if error is not None] == []


def moments(day: int, at: int, number: int = 0) -> dict[str, Any]:
    return {"id": number, "day": day, "at": at, "local": at, "many": [at]}


@pytest.mark.each_time("parts", "itself")
@pytest.mark.parametrize(
    "by",
    [["day(at)", "month(day)"], ["hour(local)"], ["day", "at"], ["bucket(4, at)"]],
    ids=["parts", "hours", "itself", "buckets"],
)
def test_dates_and_moments_beyond_the_year_9999_land_exactly(source: MakeSource, by: list[str]) -> None:
    """https://github.com/airbytehq/airbyte/issues/19952: infinity of PostgreSQL ends the whole stream."""
    topic = source(key_format="none", partition_by=by)
    schema_id = topic.register(SCHEMA)
    rows = [moments(*far, n) for n, far in enumerate(FAR)]
    topic.produce(*((None, avro(SCHEMA, schema_id, row)) for row in rows))

    assert topic.land().records == len(FAR)
    assert topic.raw("day") == [day for day, _ in FAR]
    for column in ("at", "local"):
        assert topic.raw(column) == [at for _, at in FAR]
    assert topic.raw("many") == [[at] for _, at in FAR]


def test_so_they_do_from_json(source: MakeSource) -> None:
    """https://github.com/airbytehq/airbyte/issues/19952, where Connect's converter writes JSON."""
    connect = "org.apache.kafka.connect.data."
    at = {"type": "integer", "connect.type": "int64", "title": f"{connect}Timestamp"}
    kinds = {
        "day": {"type": "integer", "connect.type": "int32", "title": f"{connect}Date"},
        "at": at,
        "local": {**at, "flink.type": "timestamp"},
    }
    topic = source(key_format="none", on_bad_record="dead_letter", partition_by=["day(at)"])
    schema_id = topic.register({"type": "object", "properties": kinds}, kind="JSON")
    values = [
        {"day": day, "at": millis, "local": millis}
        for day, millis in ((2_932_897, 9_223_372_036_825_200), (-719_529, -62_135_596_800_001))
    ]
    beyond = [{"day": 2**31}, {"at": 2**63 // 1000 + 1}]
    frame = b"\0" + schema_id.to_bytes(4, "big")
    topic.produce(*((None, frame + json.dumps(value).encode()) for value in (*values, *beyond)))

    assert topic.land().records == 2
    assert topic.raw("day") == [value["day"] for value in values]
    assert topic.raw("at") == topic.raw("local") == [value["at"] * 1000 for value in values]
    assert {letter["reason_code"] for letter in topic.dead_letters()} == {"range"}


@pytest.mark.parametrize("choice", ["suspend", "skip", "dead_letter"])
@pytest.mark.parametrize("by", [["day($$timestamp)"], []])
@pytest.mark.each_time("by0-suspend")
def test_a_records_own_time_never_stops_a_topic(source: MakeSource, choice: str, by: list[str]) -> None:
    """https://github.com/fede1024/rust-rdkafka/issues/217: CreateTime in another unit."""
    topic = source(key_format="none", on_bad_record=choice, partition_by=by)
    takes_any_time(topic)
    schema_id = topic.register(SCHEMA)
    good = avro(SCHEMA, schema_id, moments(1, 1))
    produce(topic, (good, 1_795_612_753_273_000), *((good, at) for at in TOO_LATE))

    assert topic.land().records == 3
    assert topic.raw("$$timestamp") == [1_795_612_753_273_000_000, None, None]
    late = 1_795_612_753_273_000
    produce(topic, (good[:-1], late), (b"bad", late), (good[:-1], LONGEST), (good, 1_795_612_753_273))
    if choice == "suspend":
        with pytest.raises(SuspendedError, match="offset 3"):
            topic.land()
        report = resume(topic.spec, topic.connections, past={(0, 3), (0, 4), (0, 5)})
    else:
        report = topic.land()
    assert (report.records, report.skipped + report.dead_letters) == (1, 3)
    if choice == "dead_letter":
        catalog = topic.connections.catalog
        letters = catalog.load_table(topic.things.table.dead_letters.identifier).scan().to_arrow()
        rows = letters.sort_by("offset")["timestamp"].cast("int64").to_pylist()
        assert rows == [1_795_612_753_273_000_000] * 2 + [None]


KEYED: dict[str, tuple[Callable[..., Upserts], dict[str, Any]]] = {
    "upsert": (upserts, {}),
    "cdc": (captured, {}),
    "soft": (captured, {"delete": "soft"}),
    "by lsn": (captured, {"delete": "soft", "order_by": "source.lsn"}),
    "history": (captured, {"versions": "all"}),
}


@pytest.mark.parametrize("kept", KEYED)
@pytest.mark.nightly
def test_a_records_own_time_never_stops_a_topic_of_changes_and_the_newest_one_holds(
    stack: Settings, fresh_name: str, kept: str
) -> None:
    """https://github.com/fede1024/rust-rdkafka/issues/217: CreateTime in another unit."""
    make, spec = KEYED[kept]
    maker = topic_maker(Clients(stack), fresh_name, "field_reports")
    config = {"message.timestamp.after.max.ms": str(LONGEST), "retention.ms": "-1"}
    made = make(maker, config=config, **spec)
    topic, late = made.topic, 1_795_612_753_273_000
    made.send([("a", 1), ("b", 1), ("c", 1)], timestamp=late)
    for number, at in enumerate((*TOO_LATE, late // 1000), 2):
        made.send([("a", number), ("b", number), ("c", None)], timestamp=at)
        made.send([("b", None) if number == 3 else ("b", number), ("c", number)], timestamp=at)
        if number != 3:
            land(topic.spec, topic.connections)

    assert what_holds(topic) == made.rows
    assert made.rows == {"a": 4, "b": 4, "c": 4}
    for check in ("row_count", "row_count_deep", "schema"):
        result = run_check(check, topic.spec, topic.connections)
        assert result.passed, result.text


def what_holds(topic: Topic) -> dict[str, int]:
    """Quantities by key, of rows that are neither deleted nor former versions."""
    table = topic.connections.catalog.load_table(topic.things.table.identifier)
    names = {field.name for field in table.schema().fields}
    asked = [name for name in ("key", "quantity", "$$current", "$$deleted") if name in names]
    rows = table.scan(selected_fields=tuple(asked)).to_arrow().to_pylist()
    return by_key(
        (r["key"], r["quantity"]) for r in rows if r.get("$$current", True) and not r.get("$$deleted")
    )


KEY = {"type": "record", "name": "Place", "fields": [SCHEMA["fields"][1], SCHEMA["fields"][2]]}


def send(topic: Source, rows: Sequence[dict[str, Any]], *, keyed: bool = False) -> None:
    """Rows as Avro; with their day and moment as keys."""
    value_id = topic.register(SCHEMA)
    key_id = topic.register(KEY, half="key") if keyed else 0
    pairs = [(avro(KEY, key_id, row) if keyed else None, avro(SCHEMA, value_id, row)) for row in rows]
    topic.produce(*pairs)


def failing(spec: AnyTable, topic: Source) -> list[str]:
    """What any check of a table finds, but for how new it is, and for targets that it is not published to."""
    checks = checks_of(spec, topic.connections.settings).values()
    own = [check.name for check in checks if not check.name.startswith(("freshness", "glue", "snowflake"))]
    results = [run_check(name, spec, topic.connections) for name in own]
    return [f"{result.check}: {result.text}" for result in results if result.failed]


def read_by_duckdb(topic: Source, sql: str) -> list[tuple[Any, ...]]:
    """What `frazil query` shows."""
    with sandbox() as duck:
        duck.add(("t",), Rows(topic.connections.catalog.load_table(topic.name)))
        return duck.select(sql, rows=100, seconds=60).rows


@pytest.mark.nightly
@pytest.mark.parametrize("sort_by", [[], ["at"]])
def test_a_table_of_such_moments_lives_on(
    source: MakeSource, fresh_name: str, tmp_path: Path, sort_by: list[str]
) -> None:
    """https://github.com/airbytehq/airbyte/issues/19952, and all that is done with a table behind it."""
    topic = source(key_format="none", partition_by=["day(at)"], sort_by=sort_by)
    spec, connections = topic.spec, topic.connections
    made = make_made(
        connections, tmp_path, f"{fresh_name}_made", f"SELECT id, day, at, many FROM {topic.name}",
        feeds={"topic": f"{fresh_name}_fed"},
    )  # fmt: skip
    latest = make_made(
        connections, tmp_path, f"{fresh_name}_last", f"SELECT id, day, at FROM {topic.name}",
        kind="latest", key=["day"], latest_by=["at", "id"],
    )  # fmt: skip
    totals = make_made(
        connections, tmp_path, f"{fresh_name}_sums",
        f"SELECT at, count(*) AS n FROM {topic.name} GROUP BY at", kind="totals", partition_by=["month(at)"],
    )  # fmt: skip
    for first in (0, 10):
        send(topic, [moments(*far, first + n) for n, far in enumerate(FAR)])
        assert topic.land().records == len(FAR)
        for each in (made, latest, totals):
            each.derive()
        assert feed(made.spec, connections).total == first // 10 * len(FAR) + len(FAR)

    assert failing(spec, topic) == []
    assert [failing(each.spec, topic) for each in (made, latest, totals)] == [[], [], []]
    assert numbers(made.table, "id", "at") == sorted(
        (f + n, at) for f in (0, 10) for n, (_, at) in enumerate(FAR)
    )
    assert numbers(latest.table, "id", "day") == [(10 + n, day) for n, (day, _) in enumerate(FAR)]
    assert numbers(totals.table, "at", "n") == sorted((at, 2) for _, at in FAR)
    shown = read_by_duckdb(topic, 'SELECT DISTINCT day::varchar, "at" FROM t ORDER BY "at"')
    assert [at for _, at in shown] == [
        "-290308-12-21T19:59:27.600000+00:00", "0000-12-31T23:59:59.999999+00:00",
        "+294247-01-10T04:00:25.200000+00:00",
    ]  # fmt: skip
    compact(spec, connections, time.time(), Order(everything=True))
    assert replay(spec, connections, {0: (0, 3)}).replayed == 3
    table = connections.catalog.load_table(topic.name)
    assert forget(spec, connections, condition_of(table.schema(), "id = 1"), (), after=0.0).gone
    assert numbers(connections.catalog.load_table(topic.name), "id") == [(0,), (2,), (10,), (11,), (12,)]
    assert topic.raw("at") == [FAR[n][1] for n in (0, 2, 0, 1, 2)]


@pytest.mark.nightly
@pytest.mark.parametrize("by", [["bucket(4, at)"], ["day(at)"], []])
def test_rows_of_such_keys_are_one_a_key(source: MakeSource, by: list[str]) -> None:
    """https://github.com/airbytehq/airbyte/issues/19952, where the moment is the key."""
    topic = source(mode="upsert", partition_by=by)
    for first in (0, 10, 20):
        send(topic, [moments(*far, first + n) for n, far in enumerate(FAR)], keyed=True)
        topic.land()

    rows = connections_rows(topic)
    assert rows == sorted((20 + n, day, at) for n, (day, at) in enumerate(FAR))
    assert failing(topic.spec, topic) == []


def connections_rows(topic: Source) -> list[tuple[Any, ...]]:
    return numbers(topic.connections.catalog.load_table(topic.name), "id", "day", "at")


def numbers(table: Table, *columns: str) -> list[tuple[Any, ...]]:
    """Rows in order, moments as numbers."""
    rows = table.scan(selected_fields=columns).to_arrow()
    listed = (rows[name].cast(in_numbers(rows[name].type)).to_pylist() for name in columns)
    return sorted(zip(*listed, strict=True))


@pytest.mark.nightly
def test_a_dead_letter_whose_own_time_is_far_is_redriven(source: MakeSource) -> None:
    """https://github.com/fede1024/rust-rdkafka/issues/217: and the record is fixed later."""
    topic = source(key_format="none", on_bad_record="dead_letter", partition_by=["day($$timestamp)"])
    takes_any_time(topic)
    good = avro(SCHEMA, topic.register(SCHEMA), moments(1, 1))
    late = 1_795_612_753_273_000
    produce(topic, (good, 1_795_612_753_273), (good[:-1], late), (good[:-1], LONGEST))
    assert (topic.land().records, topic.land().records) == (1, 0)

    report = redrive(topic.spec, topic.connections, repair=lambda letter: good)

    assert report.redriven == 2
    assert topic.raw("$$timestamp") == [1_795_612_753_273_000, late * 1000, None]
    assert redrive(topic.spec, topic.connections, repair=lambda letter: good).redriven == 0


def test_text_of_bytes_that_is_none_is_told_by_its_column(
    source: MakeSource, fresh_name: str, tmp_path: Path
) -> None:
    """https://github.com/duckdb/duckdb/issues/3256: Parquet with such text can't be read."""
    topic = source(key_format="none", value_format="bytes")
    topic.produce((None, b"sound"), (None, b"\xff\xfe"))
    topic.land()
    sql = f"SELECT CAST(value AS string) AS text FROM {topic.name}"

    with pytest.raises(RepairError, match="text holds text that is not UTF-8") as met:
        make_made(topic.connections, tmp_path, f"{fresh_name}_raw", sql).derive()

    assert "make_valid_utf8" in met.value.todo
    mended = sql.replace("CAST(value AS string)", "make_valid_utf8(CAST(value AS string))")
    made = make_made(topic.connections, tmp_path, f"{fresh_name}_mended", mended)
    made.derive()
    assert sorted(made.rows("text")) == [("sound",), ("\ufffd\ufffd",)]


@pytest.mark.nightly  # upkeep/test_compaction.py has such texts each time
@pytest.mark.parametrize("text", ["x" * 1500, "\U0001f600" * 400, "", "..", "a/b$c d+e%2F"])
def test_any_text_is_a_partition(source: MakeSource, text: str) -> None:
    """https://github.com/prestodb/presto/issues/6850: a folder's name is longer than the store takes."""
    schema = {"type": "record", "name": "Named", "fields": [{"name": "name", "type": "string"}]}
    topic = source(key_format="none", partition_by=["name"])
    schema_id = topic.register(schema)
    topic.produce(*((None, avro(schema, schema_id, {"name": value})) for value in (text, f"{text}b")))

    assert topic.land().records == 2
    assert sorted(row["name"] for row in topic.rows()) == sorted([text, f"{text}b"])
    assert sorted(row["name"] for row in topic.rows_by_duckdb()) == sorted([text, f"{text}b"])
    compact(topic.spec, topic.connections, time.time(), Order(everything=True))
    assert len(topic.rows()) == 2
