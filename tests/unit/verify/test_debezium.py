"""Debezium's names of types, of changes of a database and of others: docs/cdc.md, "Types"."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import pytest

from frazil_verify.log.registry import Schema, Schemas
from frazil_verify.request import Half
from frazil_verify.values.bad import BadRecordError
from frazil_verify.values.half import HalfReader

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
