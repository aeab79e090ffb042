"""What only Avro has: versions that count differently, references, bare roots, values taken on trust."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, time
from decimal import Decimal
from typing import Any

import fastavro
from confluent_kafka.schema_registry import Schema, SchemaReference

from kit.formats import Source, avro

MakeSource = Callable[..., Source]

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
NOON = time(12, 0, 0, 1000)
NOON_MICROS = 12 * 3600 * 1_000_000 + 1000


def record(name: str = "R", /, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields.items()]}


def unit(kind: str, logical: str) -> dict[str, Any]:
    return {"type": kind, "logicalType": logical}


def decimal(precision: int, scale: int) -> dict[str, Any]:
    return {**unit("bytes", "decimal"), "precision": precision, "scale": scale}


def fixed(size: int) -> dict[str, Any]:
    return {"type": "fixed", "name": f"Fixed{size}", "size": size}


def array(items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


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


OLD = record(
    at=unit("int", "time-millis"), moments=array(unit("long", "timestamp-millis")), d=decimal(12, 4),
    x="long", u=["string", "int"], c={"type": "enum", "name": "C", "symbols": ["GONE", "A"]},
)  # fmt: skip
NEW = record(
    at=unit("long", "time-micros"), moments=array(unit("long", "timestamp-micros")), d=decimal(6, 2),
    x="double", u=["null", "boolean", "int", "string"],
    c={"type": "enum", "name": "other.C", "symbols": ["A", "B"]},
)  # fmt: skip


def old(d: str = "1.23", x: int = 1, u: Any = "text") -> dict[str, Any]:
    return {"at": NOON, "moments": [MOMENT], "d": Decimal(d), "x": x, "u": u, "c": "GONE"}


def as_row(d: str, x: float, u: str | int | None = None, c: str = "GONE") -> dict[str, Any]:
    number, text = (u if isinstance(u, kind) else None for kind in (int, str))
    union = None if u is None else {"boolean": None, "int": number, "string": text}
    return {"at": NOON_MICROS, "moments": [MOMENT], "d": Decimal(d), "x": x, "u": union, "c": c}


def test_old_versions_are_read_by_what_their_numbers_counted(source: MakeSource) -> None:
    made = source(key_format="none", on_bad_record="dead_letter")
    write(made, record(at="string"), {"at": "noon"})
    write(made, OLD, old(), old(u=7), old(d="1.2345"), old(d="12345.00"), old(x=2**53 + 1))
    write(made, NEW, {"at": NOON, "moments": [MOMENT], "d": Decimal("9.99"), "x": 0.5, "u": None, "c": "B"})

    report = made.land()

    assert (report.records, report.dead_letters) == (3, 4)
    assert columns(made) == [
        as_row("1.23", 1.0, "text"),
        as_row("1.23", 1.0, 7),
        as_row("9.99", 0.5, c="B"),
    ]
    letters = made.dead_letters()
    assert [r["reason_code"] for r in letters] == ["unreadable_schema", "value", "value", "value"]
    assert "(version 1) can't be read by version 3" in letters[0]["reason"]
    assert "field at: string can't be read as long (time-micros)" in letters[0]["reason"]


FEWER = record(
    n="int", x="float", e="string", f="bytes", g=fixed(4), d=decimal(9, 2), gone="int",
    at=unit("int", "time-millis"), m={"type": "map", "values": "int"}, many=array("int"),
    later=["string", "null"],
    cents={**fixed(12), **unit("fixed", "decimal"), "name": "Cents", "precision": 18, "scale": 2},
)  # fmt: skip
MORE = record(
    n="long", x="double", e={"type": "enum", "name": "E", "symbols": ["A"]}, f={**fixed(3), "name": "F3"},
    g=fixed(2), d={**fixed(8), **unit("fixed", "decimal"), "name": "D", "precision": 12, "scale": 2},
    gone=["null", "int"], at=unit("long", "time-micros"),
    m=array(record("Pair", key="string", value="long"), logicalType="map"), many=array(["null", "long"]),
    cents={**fixed(12), **unit("fixed", "decimal"), "name": "Cents", "precision": 18, "scale": 2},
)  # fmt: skip


def test_records_that_are_wider_than_the_newest_schema_land_as_they_were_written(source: MakeSource) -> None:
    made = source(key_format="none")
    wide = {
        "n": 2**40, "x": 0.1, "e": "A", "f": b"abc", "g": b"xy", "d": Decimal("1234567890.12"), "gone": None,
        "at": NOON, "m": [{"key": "k", "value": 2**40}], "many": [None, 2**40], "cents": Decimal("-0.05"),
    }  # fmt: skip
    narrow = {
        "n": 1, "x": 0.5, "e": "any", "f": b"", "g": b"wxyz", "d": Decimal("0.12"), "gone": 7, "at": NOON,
        "m": {"k": 1}, "many": [1], "later": "now", "cents": Decimal("9999999999999999.99"),
    }  # fmt: skip
    write(made, MORE, wide)
    write(made, FEWER, narrow)

    report = made.land()

    assert report.records == 2
    assert columns(made) == [
        {**wide, "at": NOON_MICROS, "m": {"k": 2**40}, "later": None},
        {**narrow, "at": NOON_MICROS},
    ]


ENTRY = record("Entry", key=["null", "string"], value="int")
TRUSTED = record(
    text="string", texts=array("string"), by_text={"type": "map", "values": "int"},
    entries=array(ENTRY, logicalType="map"), flag="boolean", d=decimal(9, 2), at=unit("int", "time-millis"),
)  # fmt: skip
GOOD: dict[str, Any] = {
    "text": "AAAA", "texts": ["BBBB"], "by_text": {"CCCC": 1}, "entries": [{"key": "DDDD", "value": 1}],
    "flag": True, "d": Decimal("0.05"), "at": NOON,
}  # fmt: skip


def test_what_java_takes_on_trust_is_a_bad_record(source: MakeSource) -> None:
    made = source(key_format="none", on_bad_record="dead_letter")
    schema_id = made.register(TRUSTED)
    good = avro(TRUSTED, schema_id, GOOD)
    texts = [good.replace(text, b"A\xff\xfeA") for text in (b"AAAA", b"BBBB", b"CCCC", b"DDDD")]
    wide = (2**64 + 5).to_bytes(9, "big")  # its low 64 bits are 0.05 again
    broken = {
        "boolean": good.replace(b"\x01\x02\x05", b"\x03\x02\x05"),
        "decimal": good.replace(b"\x01\x02\x05", b"\x01\x12" + wide),
        "time": good[:-4] + b"\xff\xff\xff\xff\x0f",
        "key": avro(TRUSTED, schema_id, {**GOOD, "entries": [{"key": None, "value": 1}]}),
    }
    made.produce(*((None, value) for value in (good, *texts, *broken.values())))

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
