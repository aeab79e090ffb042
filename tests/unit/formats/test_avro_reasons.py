"""Why an Avro record is bad, in words: by an independent decoder, without Spark."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from typing import Any

import fastavro
import pytest

from frazil.errors import SchemaRefusedError
from frazil.formats.avro.format import Avro, AvroDecoder
from frazil.formats.protocol import VALUE, HalfSchemas, WriterSchema


def record(**fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": [{"name": n, "type": t} for n, t in fields.items()]}


def payload(schema: Any, value: Any) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), value)
    return stream.getvalue()


def decoder(*versions: Any, is_framed: bool = True) -> AvroDecoder:
    writers = tuple(WriterSchema(n, n, json.dumps(v), "AVRO") for n, v in enumerate(versions, 1))
    return AvroDecoder(HalfSchemas(VALUE, Avro(), "s-value", writers, is_framed))


def framed(schema_id: int, rest: bytes) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + rest


TEXT = record(f="string")


@pytest.mark.parametrize(
    ("raw", "code", "expected"),
    [
        (b"\0\0", "too_short", "2 bytes are too short"),
        (b"{" + bytes(9), "magic_byte", "the first byte is 123, not 0"),
        (framed(9, b"\2A"), "schema_id", "schema id 9 is not of subject s-value"),
        (framed(1, b"\4A"), "truncated", "ends early"),
        (framed(1, b"\2AB"), "trailing_bytes", "1 bytes follow"),
        (framed(1, b"\2\xff"), "utf8", "a text is not UTF-8"),
    ],
)
def test_damaged_bytes_are_told_apart(raw: bytes, code: str, expected: str) -> None:
    actual, reason = decoder(TEXT).explain(raw)

    assert actual == code
    assert expected in reason


def test_a_number_of_which_fastavro_takes_the_low_bits_is_told() -> None:
    raw = framed(1, b"\xff" * 9 + b"\x02")

    assert decoder(record(f="long")).explain(raw) == (
        "value",
        "-13835058055282163712 is not within -9223372036854775808 and 9223372036854775807, "
        "by version 1 of subject s-value",
    )


def test_bare_payloads_have_no_header_to_miss() -> None:
    assert decoder(TEXT, is_framed=False).explain(b"") == ("truncated", "the payload ends early")


def test_a_version_that_the_newest_cannot_read_is_named_with_the_field() -> None:
    code, reason = decoder(record(f="string"), record(f="int")).explain(framed(1, b"\2A"))

    assert code == "unreadable_schema"
    assert reason == (
        "schema id 1 (version 1) can't be read by version 2 of subject s-value: "
        "field f: string can't be read as int"
    )


def test_a_subject_whose_newest_version_is_no_schema_is_refused_whatever_was_renamed() -> None:
    schemas = HalfSchemas(VALUE, Avro(), "s-value", (WriterSchema(1, 1, "{", "AVRO"),))

    with pytest.raises(SchemaRefusedError, match="it is no Avro schema"):
        Avro().decoder(schemas)


def test_versions_that_can_be_read_are_known_newest_first() -> None:
    made = decoder(record(f="string"), record(f="int"), record(f="string"), record(f=["null", "string"]))

    assert made.writers == (4, 3, 1)


def decimal(precision: int, scale: int) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


TIME = {"type": "int", "logicalType": "time-millis"}
ENTRY = {**record(key=["null", "string"], value="int"), "name": "Entry"}


@pytest.mark.parametrize(
    ("old", "new", "value", "expected"),
    [
        ("boolean", "boolean", b"\5", "field f: byte 5 is no boolean"),
        (decimal(9, 2), decimal(9, 2), Decimal(2**20), None),
        (decimal(20, 4), decimal(5, 2), Decimal("1.2345"), "field f: 1.2345 does not fit decimal(5,2)"),
        (decimal(20, 3), decimal(5, 2), Decimal("1234.000"), "field f: 1234.000 does not fit decimal(5,2)"),
        (decimal(20, 2), decimal(5, 2), Decimal("1234.00"), None),
        ("long", "double", 2**53 + 1, "field f: 9007199254740993 is no double without loss"),
        ("long", "double", 2**53, None),
        (["null", "int"], "int", None, None),
        (TIME, TIME, b"\xff\x01", "field f: -128 is no time of a day (time-millis)"),
        (
            {"type": "array", "items": ENTRY, "logicalType": "map"},
            {"type": "array", "items": ENTRY, "logicalType": "map"},
            [{"key": None, "value": 1}],
            "field f[0] is an entry without a key",
        ),
        (
            {"type": "map", "values": {"type": "array", "items": "long"}},
            {"type": "map", "values": {"type": "array", "items": "float"}},
            {"k": [1, 2**24 + 1]},
            "field f{k}[1]: 16777217 is no float without loss",
        ),
    ],
)
def test_a_value_that_does_not_fit_is_named(old: Any, new: Any, value: Any, expected: str | None) -> None:
    rest = value if isinstance(value, bytes) else payload(record(f=old), {"f": value})

    code, reason = decoder(record(f=old), record(f=new)).explain(framed(1, rest))

    assert code == "value"
    assert reason == f"{expected or 'a value does not fit its column'}, by version 2 of subject s-value"
