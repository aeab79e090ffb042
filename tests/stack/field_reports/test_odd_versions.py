"""Schemas that could not become a table, and older versions that could not."""

from __future__ import annotations

import json
from decimal import Context, Decimal
from typing import Any

import pytest

from kit.formats.formats import MakeSource, avro
from kit.formats.protobuf import message_class

EXACT = Context(prec=100)
BEYOND = Decimal(10**38).scaleb(-2, EXACT)


def wide(precision: int, scale: int = 2) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


def record(*fields: tuple[str, Any], name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields]}


def number(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 8) // 8, "big", signed=True)


def test_the_decimals_of_connects_jdbc_source_land(source: MakeSource) -> None:
    """https://github.com/confluentinc/kafka-connect-jdbc/issues/941: decimal(64, 2) for every NUMERIC."""
    topic = source(key_format="none", on_bad_record="dead_letter")
    schema, plain = record(("d", wide(64))), record(("d", "bytes"))
    schema_id = topic.register(schema)
    numbers = [12345, -1, 10**38 - 1, 10**38, 1 - 10**38, 10**63]
    topic.produce(*((None, avro(plain, schema_id, {"d": number(n)})) for n in numbers))

    assert topic.land().dead_letters == 2
    fitting = [Decimal(n).scaleb(-2, EXACT) for n in numbers if abs(n) < 10**38]
    assert sorted(row["d"] for row in topic.rows()) == sorted(fitting)
    assert all("does not fit decimal(38,2)" in letter["reason"] for letter in topic.dead_letters())
    newer = topic.register(record(("d", wide(10))))  # as somebody mends it later
    topic.produce((None, avro(plain, newer, {"d": b"\1"})), (None, avro(plain, schema_id, {"d": b"\2"})))
    assert topic.land().records == 2
    assert topic.table().num_rows == len(fitting) + 2


@pytest.mark.parametrize("kind", ["AVRO", "JSON", "PROTOBUF"])
def test_records_of_an_arm_that_began_empty_are_read_by_the_version_that_fills_it(
    source: MakeSource, kind: str
) -> None:
    """https://github.com/apache/iceberg/issues/16212: v1 has `message Placed {}` in a oneof, v2 fills it."""
    topic = source(key_format="none", on_bad_record="dead_letter")
    then, now, old, new = WRITTEN[kind]
    header = b"\0" if kind == "PROTOBUF" else b""
    first = topic.register(then, kind=kind)
    second = topic.register(now, kind=kind)
    topic.produce(
        *(
            (None, b"\0" + i.to_bytes(4, "big") + header + payload)
            for i, payload in ((first, old), (second, new))
        )
    )

    report = topic.land()

    assert (report.records, report.dead_letters) == (2, 0), topic.dead_letters()
    values = [row["event"]["Placed"]["at"] for row in topic.rows()]
    assert sorted(values, key=str) == sorted(["" if kind != "JSON" else None, "noon"], key=str)


def _proto(inner: str) -> str:
    return (
        'syntax = "proto3"; message M { string id = 1; oneof event { Placed Placed = 2; string gone = 3; } }'
        f" message Placed {{ {inner} }}"
    )


def _avro(*fields: Any) -> dict[str, Any]:
    placed = {"type": "record", "name": "Placed", "fields": list(fields)}
    return record(("id", "string"), ("event", [placed, "string"]))


def _json(**properties: Any) -> dict[str, Any]:
    placed = {"title": "Placed", "type": "object", "properties": properties}
    gone = {"title": "gone", "type": "string"}
    return {"type": "object", "properties": {"id": {"type": "string"}, "event": {"oneOf": [placed, gone]}}}


_FILLED = "string at = 1;"
_TEXT = {"type": "string"}
_AT = {"name": "at", "type": "string", "default": ""}
WRITTEN: dict[str, Any] = {
    "PROTOBUF": (
        _proto(""), _proto(_FILLED),
        message_class(_proto(""), "M")(id="a", Placed={}).SerializeToString(),
        message_class(_proto(_FILLED), "M")(id="b", Placed={"at": "noon"}).SerializeToString(),
    ),
    "AVRO": (_avro(), _avro(_AT), b"\2a\0", b"\2b\0\x08noon"),
    "JSON": (
        _json(), _json(at=_TEXT), json.dumps({"id": "a", "event": {}}).encode(),
        json.dumps({"id": "b", "event": {"at": "noon"}}).encode(),
    ),
}  # fmt: skip
