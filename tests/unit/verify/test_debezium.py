"""Debezium's names of types, of changes of a database and of others: docs/cdc.md, "Types"."""

from __future__ import annotations

import hashlib
import io
import json
from typing import Any

import fastavro
import pytest

from frazil_verify.log.registry import Schema, Schemas
from frazil_verify.request import Half
from frazil_verify.table.metadata import Column
from frazil_verify.values.bad import BadRecordError
from frazil_verify.values.debezium import marks_of
from frazil_verify.values.half import HalfReader, struct
from frazil_verify.values.json import JsonReader

ZONED = "2026-11-26T10:00:00.1234567+01:00", 1_795_683_600_123_456
TYPES: list[tuple[str, str, str, Any, Any]] = [
    ("Date", "int", "date", -1, -1),
    ("Timestamp", "long", "timestamp", 1_500, 1_500_000),
    ("MicroTimestamp", "long", "timestamp", 1_500, 1_500),
    ("NanoTimestamp", "long", "long", 1_500, 1_500),
    ("Time", "int", "long", 86_400_000, 86_400_000_000),
    ("MicroTime", "long", "long", -5, -5),
    ("ZonedTimestamp", "string", "timestamptz", *ZONED),
    ("ZonedTime", "string", "string", "10:00:00Z", "10:00:00Z"),
]
"""Of each name the type that it stands at, the column, what is sent, and what must be in the table."""


def in_avro(name: str, kind: str, value: Any) -> tuple[Schema, bytes]:
    node = {"type": kind, "connect.name": f"io.debezium.time.{name}"}
    fields = [{"name": "f", "type": ["null", node], "default": None}]
    text = json.dumps({"type": "record", "name": "R", "fields": fields})
    out = io.BytesIO()
    fastavro.schemaless_writer(out, json.loads(text), {"f": value})
    return Schema(7, "AVRO", text, {}), out.getvalue()


def in_json(name: str, kind: str, value: Any) -> tuple[Schema, bytes]:
    node: dict[str, Any] = {"type": "string" if kind == "string" else "integer"}
    node |= {"title": f"io.debezium.time.{name}"}
    node |= {"connect.type": {"int": "int32", "long": "int64"}[kind]} if kind != "string" else {}
    text = json.dumps({"type": "object", "properties": {"f": node}})
    return Schema(7, "JSON", text, {}), json.dumps({"f": value}).encode()


def read(schema: Schema, payload: bytes, column: str, *, of_database: bool) -> Any:
    version = {"id": 7, "schemaType": schema.kind, "schema": schema.text}
    answers = {
        "schemas/ids/7": version, "subjects/s/versions/latest": version,
        "subjects/s/versions?deleted=true": [1], "subjects/s/versions/1?deleted=true": version,
    }  # fmt: skip
    half = Half(format="registry", subject="s", of_database=of_database)
    wanted = {"type": "struct", "fields": [{"id": 1, "name": "f", "type": column, "required": False}]}
    (value,) = HalfReader(half, Schemas(answers.get), wanted)(b"\0\0\0\0\x07" + payload)
    return value


@pytest.mark.parametrize("encoded", [in_avro, in_json])
@pytest.mark.parametrize(("name", "kind", "column", "sent", "expected"), TYPES)
def test_values_of_changes_are_what_debeziums_names_say(
    encoded: Any, name: str, kind: str, column: str, sent: Any, expected: Any
) -> None:
    assert read(*encoded(name, kind, sent), column, of_database=True) == expected


@pytest.mark.parametrize("encoded", [in_avro, in_json])
@pytest.mark.parametrize(("name", "kind", "column", "sent"), [each[:4] for each in TYPES])
def test_in_other_modes_they_stay_what_they_are(
    encoded: Any, name: str, kind: str, column: str, sent: Any
) -> None:
    """Also where the column is of the same type."""
    assert read(*encoded(name, kind, sent), kind, of_database=False) == sent
    if column == "long":
        assert read(*encoded(name, kind, sent), column, of_database=False) == sent


@pytest.mark.parametrize("encoded", [in_avro, in_json])
@pytest.mark.parametrize(
    ("name", "kind", "column", "sent"),
    [
        ("Time", "int", "long", 86_400_001),
        ("Time", "int", "long", -1),
        ("ZonedTimestamp", "string", "timestamptz", "+10000-01-01T00:00:00Z"),
        ("ZonedTimestamp", "string", "timestamptz", "2026-11-26"),
        ("Timestamp", "long", "timestamp", 2**62),
    ],
)
def test_what_is_no_value_of_such_a_type_is_bad(
    encoded: Any, name: str, kind: str, column: str, sent: Any
) -> None:
    with pytest.raises(BadRecordError):
        read(*encoded(name, kind, sent), column, of_database=True)


TEXT = "__debezium_unavailable_value"
DIGITS = tuple(TEXT.encode())
INFINITY = 9_223_372_036_825_200_000
LIST: dict[str, Any] = {"type": "list"}
TEXTS = {"type": "map", "key": "string", "value": "string"}
MARKS: list[tuple[Any, Any]] = [
    ("string", TEXT), ("binary", TEXT.encode()), (LIST | {"element": "string"}, (TEXT,)),
    (LIST | {"element": "int"}, DIGITS), (LIST | {"element": "date"}, DIGITS),
    (LIST | {"element": "timestamp"}, tuple(1000 * n for n in DIGITS)), (TEXTS, ((TEXT, TEXT),)),
    ("timestamp", INFINITY), ("timestamptz", -9_223_372_036_832_400_000),
    ("date", 2**31 - 1), ("date", -(2**31)),
    (LIST | {"element": "timestamp"}, (0, INFINITY)),
]  # fmt: skip
"""Columns and what stands there; docs/cdc.md, "Long values of PostgreSQL" and "Types"."""

VALUES: list[tuple[Any, Any]] = [
    (LIST | {"element": "string"}, ("fd4fd83b-6cb3-3a5b-8c3e-1f4b2a9f9d10",)),
    ("string", f"{TEXT} "), ("string", None), (LIST | {"element": "string"}, (TEXT, "more")),
    (LIST | {"element": "int"}, (*DIGITS, 1)), (TEXTS, ((TEXT, TEXT), ("a", "b"))), ("long", INFINITY),
    ("timestamp", INFINITY - 1), ("date", 2_145_042_905), ("date", -2_440_588),
]  # fmt: skip


def named_uuid() -> str:
    """What Java's `UUID.nameUUIDFromBytes` makes of the mark."""
    digits = bytearray(hashlib.md5(TEXT.encode()).digest())
    digits[6], digits[8] = digits[6] & 0x0F | 0x30, digits[8] & 0x3F | 0x80
    text = digits.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


@pytest.mark.parametrize("within", [False, True])
def test_marks_for_what_can_not_be_written_are_known_and_values_like_them_are_not(within: bool) -> None:
    def marked(kind: Any, value: Any) -> bool:
        fields = [{"id": 1, "name": "f", "type": kind, "required": False}]
        inner = {"type": "struct", "fields": fields} if within else kind
        return marks_of([Column(2, "c", inner, False)])([(value,) if within else value])

    of_uuid = (LIST | {"element": "string"}, (named_uuid(),))
    assert [each for each in [*MARKS, of_uuid] if not marked(*each)] == []
    assert [each for each in VALUES if marked(*each)] == []


EMBEDDED = {
    "type": "object",
    "properties": {"payload": {"type": "object", "properties": {"f": {"type": "string"}}}},
    "required": ["payload"],
}


def test_a_change_that_connect_wrote_with_its_schema_stands_in_the_payload() -> None:
    schema = Schema(7, "JSON", json.dumps(EMBEDDED), {})
    sent = {"schema": {"type": "struct", "fields": []}, "payload": {"f": "a"}}

    assert read(schema, json.dumps(sent).encode(), "string", of_database=True) == "a"
    with pytest.raises(BadRecordError):
        read(schema, b'{"f": "a"}', "string", of_database=True)


def test_in_other_modes_a_property_payload_is_a_column() -> None:
    schema = Schema(7, "JSON", json.dumps(EMBEDDED), {})
    inner = struct([Column(2, "f", "string", False)])
    reader = JsonReader(schema, struct([Column(1, "payload", inner, False)]))

    assert reader(b'{"schema": {}, "payload": {"f": "a"}}') == (("a",),)
