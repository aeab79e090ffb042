"""Dates and moments that Python's own can't hold, in records and of records: they land, and live on."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource

from frazil.errors import SuspendedError
from frazil.kafka.clients import client_config
from frazil.landing.resume import resume
from kit.formats import MakeSource, Source, avro
from kit.waiting import PATIENCE

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


@pytest.mark.parametrize("by", [["day(at)", "month(day)"], ["hour(local)"], ["day", "at"], ["bucket(4, at)"]])
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


@pytest.mark.parametrize("choice", ["suspend", "skip", "dead_letter"])
@pytest.mark.parametrize("by", [["day($$timestamp)"], []])
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
        held = letters.sort_by("offset")["timestamp"].cast("int64").to_pylist()
        assert held == [1_795_612_753_273_000_000] * 2 + [None]
