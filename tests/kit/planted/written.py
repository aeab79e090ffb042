"""Drawn values as the bytes of records, and the schemas that say so, as a registry has them.

Avro is written by fastavro, Protobuf by hand, from https://protobuf.dev/programming-guides/encoding/.
"""

from __future__ import annotations

import base64
import io
import json
import struct
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import cache
from typing import Any

import fastavro

from kit.planted.columns import EXTRA, Format, Values, columns_of

Document = dict[str, Any]
_CONNECT = "org.apache.kafka.connect.data."

_AVRO_PLACE = {
    "type": "record", "name": "Place",
    "fields": [
        {"name": "city", "type": "string"}, {"name": "lat", "type": "double"},
        {"name": "zip", "type": ["null", "int"], "default": None},
    ],
}  # fmt: skip
_AVRO: Mapping[str, Any] = {
    "flag": "boolean", "small": "int", "large": "long", "rate": "float", "amount": "double",
    "price": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 3},
    "name": "string", "note": ["null", "string"], "blob": "bytes",
    "day": {"type": "int", "logicalType": "date"},
    "seen": {"type": "long", "logicalType": "timestamp-micros"},
    "here": {"type": "long", "logicalType": "local-timestamp-micros"},
    "clock": {"type": "long", "logicalType": "time-micros"},
    "tags": {"type": "array", "items": "string"}, "counts": {"type": "map", "values": "long"},
    "place": ["null", _AVRO_PLACE], EXTRA: ["null", "int"],
}  # fmt: skip

_INT, _LONG, _TEXT = (
    {"type": "integer", "connect.type": "int32"},
    {"type": "integer", "connect.type": "int64"},
    {"type": "string"},
)


def _or_null(node: Document) -> Document:
    return {"oneOf": [{"type": "null"}, node]}


_JSON: Mapping[str, Document] = {
    "flag": {"type": "boolean"}, "small": _INT, "large": _LONG,
    "rate": {"type": "number", "connect.type": "float32"}, "amount": {"type": "number"},
    "price": {
        "type": "string", "connect.type": "bytes", "title": f"{_CONNECT}Decimal",
        "connect.parameters": {"scale": "3", "connect.decimal.precision": "12"},
    },
    "name": _TEXT, "note": _or_null(_TEXT), "blob": {**_TEXT, "connect.type": "bytes"},
    "day": {**_INT, "title": f"{_CONNECT}Date"}, "seen": {**_LONG, "title": f"{_CONNECT}Timestamp"},
    "here": {**_LONG, "flink.type": "timestamp"}, "clock": {**_INT, "title": f"{_CONNECT}Time"},
    "tags": {"type": "array", "items": _TEXT},
    "counts": {"type": "object", "additionalProperties": _LONG},
    "place": _or_null(
        {"type": "object", "properties": {"city": _TEXT, "lat": {"type": "number"}, "zip": _or_null(_INT)}}
    ),
    EXTRA: _or_null(_INT),
}  # fmt: skip

_PROTO = """syntax = "proto3";
import "google/protobuf/timestamp.proto";
message Record {
  bool flag = 1; sint32 small = 2; int64 large = 3; float rate = 4; double amount = 5; string name = 6;
  optional string note = 7; bytes blob = 8; google.protobuf.Timestamp seen = 9; repeated string tags = 10;
  map<string, int64> counts = 11; Place place = 12;%s
}
message Place { string city = 1; double lat = 2; optional int32 zip = 3; }
"""
_PROTO_EXTRA = " optional int32 extra = 13;"


def schema_of(form: Format, *, evolved: bool, change: bool) -> Document:
    """The answer of a registry: the schema of values; `change`: of a database's."""
    if form == "protobuf":
        text = _PROTO % (_PROTO_EXTRA if evolved else "")
        return {"schemaType": "PROTOBUF", "schema": text}
    tree = _avro(evolved, change) if form == "avro" else _json(evolved, change)
    return {"schemaType": form.upper(), "schema": json.dumps(tree)}


def _fields(form: Format, evolved: bool) -> list[str]:
    return [column.name for column in columns_of(form) if evolved or column.name != EXTRA]


def _avro(evolved: bool, change: bool) -> Document:
    fields: list[Document] = [{"name": n, "type": _AVRO[n]} for n in _fields("avro", evolved)]
    fields += [{"name": EXTRA, "type": _AVRO[EXTRA], "default": None}] if evolved else []
    fields = [*{field["name"]: field for field in fields}.values()]
    if not change:
        return {"type": "record", "name": "Record", "fields": fields}
    row = {"type": "record", "name": "Row", "fields": [{"name": "key", "type": "string"}, *fields]}
    source = {
        "type": "record", "name": "Source",
        "fields": [{"name": "ts_ms", "type": "long"}, {"name": "lsn", "type": ["null", "long"]}],
    }  # fmt: skip
    parts = [("after", ["null", row]), ("source", source), ("op", "string")]
    return {
        "type": "record",
        "name": "Envelope",
        "fields": [{"name": name, "type": kind} for name, kind in parts],
    }


def _json(evolved: bool, change: bool) -> Document:
    fields = {name: _JSON[name] for name in _fields("json", evolved)}
    if not change:
        return {"type": "object", "properties": fields}
    row = {"type": "object", "properties": {"key": _TEXT, **fields}}
    source = {"type": "object", "properties": {"ts_ms": _LONG, "lsn": _or_null(_LONG)}}
    return {"type": "object", "properties": {"after": _or_null(row), "source": source, "op": _TEXT}}


def written(form: Format, schema_id: int, schema: str, values: Values) -> bytes:
    """A record's value: the id of its schema, and the values."""
    body = {"avro": _as_avro, "json": _as_json, "protobuf": _as_protobuf}[form](schema, values)
    return b"\0" + schema_id.to_bytes(4, "big") + body


def changed(form: Format, schema_id: int, schema: str, change: Values) -> bytes:
    """The same of a database's change: `op`, `after` and `source`."""
    return written(form, schema_id, schema, change)


@cache
def _parsed(schema: str) -> Any:
    return fastavro.parse_schema(json.loads(schema))


def _as_avro(schema: str, values: Values) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, _parsed(schema), _within(values, _avro_values))
    return out.getvalue()


def _as_json(_schema: str, values: Values) -> bytes:
    return json.dumps(_within(values, _json_values), ensure_ascii=False).encode()


def _within(values: Values, made: Callable[[Values], Values]) -> Values:
    """The row is the record, or within a change."""
    if "op" not in values:
        return made(values)
    return {**values, "after": values["after"] and made(values["after"])}


def _avro_values(values: Values) -> Values:
    price = values["price"]
    return {**values, "price": price if price is None else Decimal(price).scaleb(-3)}


def _json_values(values: Values) -> Values:
    price, encoded = values["price"], {**values}
    encoded["price"] = base64.b64encode(price.to_bytes(6, "big", signed=True)).decode()
    encoded["blob"] = base64.b64encode(values["blob"]).decode()
    return encoded | {name: values[name] // 1000 for name in ("seen", "here", "clock")}


def _as_protobuf(_schema: str, values: Values) -> bytes:
    return b"\0" + b"".join(_proto_fields(values))


def _proto_fields(values: Values) -> Iterator[bytes]:
    yield _varint(1 << 3) + _varint(int(values["flag"]))
    yield _varint(2 << 3) + _varint(_zigzag(values["small"]))
    yield _varint(3 << 3) + _varint(values["large"] % 2**64)
    yield _varint(4 << 3 | 5) + struct.pack("<f", values["rate"])
    yield _varint(5 << 3 | 1) + struct.pack("<d", values["amount"])
    yield _part(6, values["name"].encode())
    if values["note"] is not None:
        yield _part(7, values["note"].encode())
    yield _part(8, values["blob"])
    seconds, micros = divmod(values["seen"], 1_000_000)
    yield _part(9, _varint(1 << 3) + _varint(seconds % 2**64) + _varint(2 << 3) + _varint(micros * 1000))
    yield from (_part(10, tag.encode()) for tag in values["tags"])
    for key, count in values["counts"].items():
        yield _part(11, _part(1, key.encode()) + _varint(2 << 3) + _varint(count))
    if values["place"] is not None:
        yield _part(12, _place(values["place"]))
    if values[EXTRA] is not None:
        yield _varint(13 << 3) + _varint(values[EXTRA])


def _place(place: Values) -> bytes:
    encoded = _part(1, place["city"].encode()) + _varint(2 << 3 | 1) + struct.pack("<d", place["lat"])
    return encoded if place["zip"] is None else encoded + _varint(3 << 3) + _varint(place["zip"])


def _part(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _zigzag(value: int) -> int:
    return (value << 1 ^ value >> 31) % 2**32


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
