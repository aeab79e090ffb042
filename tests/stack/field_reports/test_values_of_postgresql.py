"""What Debezium sends of PostgreSQL's odd values: one answer, however the change is written."""

from __future__ import annotations

from copy import deepcopy
from hashlib import md5
from typing import Any
from uuid import UUID

import pytest

from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.landing.land import land
from kit.records.envelopes import (
    AT,
    FIELDS,
    JSON_ENVELOPE,
    SEEN,
    Captured,
    Written,
    avro_envelope,
    captured,
    embedded,
)
from kit.records.topics import MakeTopic, topic_maker

MARK = "__debezium_unavailable_value"
BYTES = list(MARK.encode())
MARKED_UUID = str(UUID(bytes=md5(MARK.encode()).digest(), version=3))
DAY_MICROS = 86_400_000_000
ROW = {
    "key": "k", "quantity": 1, "note": "n", "at": AT, "seen": SEEN, "clock": DAY_MICROS, "ticks": 86_400_000,
    "day": 2_932_896, "tags": [MARK, "b"], "days": BYTES[:-1], "counts": [*BYTES, 1], "moments": [AT],
    "pairs": {"a": "b"},
}  # fmt: skip


@pytest.fixture
def make_topic(connections: Connections, fresh_name: str) -> MakeTopic:
    return topic_maker(connections, fresh_name, "landing_tests")


def noted(kind: str, name: str) -> dict[str, Any]:
    return {"type": kind, "connect.version": 1, "connect.name": f"io.debezium.time.{name}"}


def titled(connect: str, name: str) -> dict[str, Any]:
    return {"type": "integer", "connect.type": connect, "title": f"io.debezium.time.{name}"}


def many(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


AVRO = {
    "clock": noted("long", "MicroTime"), "ticks": noted("int", "Time"), "day": noted("int", "Date"),
    "tags": many("string"), "days": many(noted("int", "Date")), "counts": many("long"),
    "moments": many(noted("long", "MicroTimestamp")), "pairs": {"type": "map", "values": "string"},
}  # fmt: skip
JSON = {
    "clock": titled("int64", "MicroTime"), "ticks": titled("int32", "Time"), "day": titled("int32", "Date"),
    "tags": many({"type": "string"}), "days": many(titled("int32", "Date")),
    "counts": many({"type": "integer", "connect.type": "int64"}),
    "moments": many(titled("int64", "MicroTimestamp")),
    "pairs": {"type": "object", "connect.type": "map", "additionalProperties": {"type": "string"}},
}  # fmt: skip


def json_envelope() -> dict[str, Any]:
    whole = deepcopy(JSON_ENVELOPE)
    for row in (whole["properties"][half]["oneOf"][1] for half in ("before", "after")):  # type: ignore[index]
        row["properties"] |= {
            name: {"connect.index": n, **of} for n, (name, of) in enumerate(JSON.items(), 5)
        }
    return whole


def made_by(make_topic: MakeTopic, written: Written) -> Captured:
    made = captured(make_topic, written, partitions=1, on_bad_record="dead_letter")
    fields = [*FIELDS, *({"name": name, "type": kind} for name, kind in AVRO.items())]
    schema = {
        "avro": lambda: avro_envelope(fields),
        "json": json_envelope,
        "embedded": lambda: embedded(json_envelope()),
    }
    made.register("value", schema[written]())
    return made


BAD = [
    ("at", 9_223_372_036_825_200_000, "infinity"), ("at", -9_223_372_036_832_400_000, "infinity"),
    ("day", 2_146_033_979, "infinity"), ("day", 2_147_483_647, "infinity"),
    ("day", -2_147_472_692, "infinity"), ("seen", "infinity", "value"),
    ("moments", [AT, 9_223_372_036_825_200_000], "infinity"),
    ("days", [0, -2_147_483_648], "infinity"),
    ("tags", [MARK], "unavailable_value"), ("tags", [MARKED_UUID], "unavailable_value"),
    ("days", BYTES, "unavailable_value"), ("counts", BYTES, "unavailable_value"),
    ("moments", BYTES, "unavailable_value"), ("pairs", {MARK: MARK}, "unavailable_value"),
    ("note", MARK, "unavailable_value"), ("ticks", 86_400_001, "value"),
]  # fmt: skip


@pytest.mark.each_time("embedded")
@pytest.mark.parametrize("written", ["avro", "json", "embedded"])
def test_marks_are_bad_records_and_the_end_of_a_day_is_none(make_topic: MakeTopic, written: Written) -> None:
    """PostgreSQL has `time '24:00:00'` and the infinities; long arrays that an update left alone are marked.

    https://github.com/debezium/debezium/pull/7815 (arrays), DBZ-2360 (infinity), and PostgreSQL's manual,
    "Date/Time Types": time goes "00:00:00 to 24:00:00". What a mark nearly is lands, and exactly.
    """
    made = made_by(make_topic, written)
    records = [ROW, *({**ROW, name: value} for name, value, _ in BAD)]

    made.topic.send_keyed([(made.key("k"), made.value("u", None, row)) for row in records])
    report = land(made.topic.spec, made.topic.connections)

    letters = made.topic.connections.catalog.load_table(("landing_tests", f"{made.topic.name}__dead_letters"))
    letters_read = letters.scan().to_arrow().sort_by("offset").to_pylist()
    assert [(letter["offset"], letter["reason_code"]) for letter in letters_read] == [
        (n, code if written == "avro" or code != "value" else "range")
        for n, ((_, _, code), letter) in enumerate(zip(BAD, letters_read, strict=False), 1)
    ]
    assert report.dead_letters == len(BAD)
    columns = zip((name for name, _, _ in BAD), letters_read, strict=True)
    assert [name for name, letter in columns if name not in letter["reason"]] == []
    assert run_check("row_count", made.topic.spec, made.topic.connections).passed
    rows = made.topic.connections.catalog.load_table(("landing_tests", made.topic.name)).scan().to_arrow()
    assert rows.num_rows == 1
    assert rows["clock"][0].as_py() == rows["ticks"][0].as_py() == DAY_MICROS
    assert rows["tags"][0].as_py() == [MARK, "b"]
    assert rows["counts"][0].as_py() == [*BYTES, 1]
    assert dict(rows["pairs"][0].as_py()) == {"a": "b"}
    assert len(rows["days"][0]) == len(BYTES) - 1
