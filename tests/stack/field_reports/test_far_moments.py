"""Dates and moments that Python's own can't hold, in records and of records: they land, and live on."""

from __future__ import annotations

from typing import Any

import pytest

from frazil.errors import SuspendedError
from frazil.landing.resume import resume
from kit.formats import MakeSource, avro

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
    schema_id = topic.register(SCHEMA)
    good = avro(SCHEMA, schema_id, moments(1, 1))
    for at in (1_795_612_753_273_000, *TOO_LATE):
        topic.produce((None, good), timestamp=at)

    assert topic.land().records == 3
    assert topic.raw("$$timestamp") == [1_795_612_753_273_000_000, None, None]
    topic.produce((None, good[:-1]), (None, b"bad"), timestamp=1_795_612_753_273_000)
    topic.produce((None, good[:-1]), timestamp=LONGEST)
    topic.produce((None, good), timestamp=1_795_612_753_273)
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
