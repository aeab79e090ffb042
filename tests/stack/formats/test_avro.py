"""What only Avro has: versions that count differently, references, bare roots, values taken on trust."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import fastavro
from confluent_kafka.schema_registry import Schema, SchemaReference

from kit.formats.avro_versions import (
    FEWER,
    GOOD,
    MOMENT,
    MORE,
    NARROW,
    NEW,
    NOON,
    NOON_MICROS,
    OLD,
    TRUSTED,
    WIDE,
    as_row,
    mistrusted,
    old,
    record,
    unit,
)
from kit.formats.formats import Source, avro

MakeSource = Callable[..., Source]


def bare(schema: Any, value: Any) -> bytes:
    """A payload without the wire format's header."""
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), value)
    return stream.getvalue()


def write(source: Source, schema: Any, *values: Any) -> None:
    """Registers a version and produces values of it."""
    schema_id = source.register(schema)
    source.produce(*((None, avro(schema, schema_id, value)) for value in values))


def columns(source: Source) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if not k.startswith("$$")} for row in source.rows()]


def test_old_versions_are_read_by_what_their_numbers_counted(source: MakeSource) -> None:
    made = source(key_format="none", on_bad_record="dead_letter")
    write(made, record(at="string"), {"at": "noon"})
    write(made, OLD, old(), old(u=7), old(d="1.2345"), old(d="12345.00"), old(x=2**53 + 1), old(x=2**63 - 1))
    write(made, NEW, {"at": NOON, "moments": [MOMENT], "d": Decimal("9.99"), "x": 0.5, "u": None, "c": "B"})

    report = made.land()

    assert (report.records, report.dead_letters) == (3, 5)
    assert columns(made) == [
        as_row("1.23", 1.0, "text"),
        as_row("1.23", 1.0, 7),
        as_row("9.99", 0.5, c="B"),
    ]
    letters = made.dead_letters()
    assert [r["reason_code"] for r in letters] == ["unreadable_schema", *["value"] * 4]
    assert "(version 1) can't be read by version 3" in letters[0]["reason"]
    assert "field at: string can't be read as long (time-micros)" in letters[0]["reason"]


def test_records_that_are_wider_than_the_newest_schema_land_as_they_were_written(source: MakeSource) -> None:
    made = source(key_format="none")
    write(made, MORE, WIDE)
    write(made, FEWER, NARROW)

    report = made.land()

    assert report.records == 2
    assert columns(made) == [
        {**WIDE, "at": NOON_MICROS, "m": {"k": 2**40}, "later": None},
        {**NARROW, "at": NOON_MICROS},
    ]


def test_what_java_takes_on_trust_is_a_bad_record(source: MakeSource) -> None:
    made = source(key_format="none", on_bad_record="dead_letter")
    schema_id = made.register(TRUSTED)
    good = avro(TRUSTED, schema_id, GOOD)
    made.produce(*((None, value) for value in (good, *mistrusted(good))))

    report = made.land()

    assert columns(made) == [{**GOOD, "entries": {"DDDD": 1}, "at": NOON_MICROS}]
    assert report.dead_letters == 8
    codes = [r["reason_code"] for r in made.dead_letters()]
    assert codes[:4] == ["utf8"] * 4
    assert set(codes[4:]) <= {"value", "payload"}


def test_bare_payloads_are_read_by_the_newest_schema_and_to_their_end(source: MakeSource) -> None:
    made = source(key_format="none", framing="none", on_bad_record="dead_letter")
    made.register(record(n="int"))
    newest = record(n="int", u=["int", "string"])
    made.register(newest)
    good = bare(newest, {"n": 1, "u": "a"})
    made.produce((None, good), (None, good + b"\0"), (None, good[:-1]))

    made.land()

    assert columns(made) == [{"n": 1, "u": {"int": None, "string": "a"}}]
    assert [r["reason_code"] for r in made.dead_letters()] == ["trailing_bytes", "truncated"]


def test_a_root_that_is_no_record_is_a_column_named_by_its_half(source: MakeSource) -> None:
    made = source(on_bad_record="dead_letter")
    key_id, value_id = made.register({"type": "string"}, "key"), made.register(["long", "string"])
    heads = [b"\0" + i.to_bytes(4, "big") for i in (key_id, value_id)]
    made.produce(
        (heads[0] + bare("string", "k"), heads[1] + bare(["long", "string"], 2**40)),
        (None, heads[1] + bare(["long", "string"], "v")),
    )

    made.land()

    assert columns(made) == [
        {"key": "k", "value": {"long": 2**40, "string": None}},
        {"key": None, "value": {"long": None, "string": "v"}},
    ]


def test_a_schema_lands_with_those_that_it_refers_to(source: MakeSource) -> None:
    made = source(key_format="none")
    city = record("geo.City", name="string")
    address = record("geo.Address", city="geo.City", since=unit("int", "time-millis"))
    person = record("hr.Person", home="geo.Address", work=["null", "geo.City"])
    registry, topic = made.connections.registry, made.spec.topic
    registry.register_schema(f"{topic}-city", Schema(json.dumps(city), "AVRO"))
    to_city = SchemaReference("geo.City", f"{topic}-city", 1)
    registry.register_schema(f"{topic}-address", Schema(json.dumps(address), "AVRO", [to_city]))
    to_address = SchemaReference("geo.Address", f"{topic}-address", 1)
    needing = Schema(json.dumps(person), "AVRO", [to_address, to_city])
    schema_id = registry.register_schema(f"{topic}-value", needing)
    home = record("geo.Address", city=city, since=unit("int", "time-millis"))
    whole = record("hr.Person", home=home, work=["null", "geo.City"])
    value = {"home": {"city": {"name": "Brno"}, "since": NOON}, "work": {"name": "Plzeň"}}
    made.produce((None, avro(whole, schema_id, value)))

    made.land()

    assert columns(made) == [{**value, "home": {"city": {"name": "Brno"}, "since": NOON_MICROS}}]
