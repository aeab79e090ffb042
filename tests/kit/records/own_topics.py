"""Topics as people have them, and the rows of their tables: written by no code of the engine's."""

from __future__ import annotations

import base64
import io
import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import fastavro
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from kit.formats.protobuf import framed, message_class
from kit.records.envelopes import FIELDS, KEY_FIELDS, ORIGIN, SEEN, avro_envelope, record

Record = tuple[bytes | None, bytes | None]
Row = dict[str, Any]
Send = Callable[[str, SchemaRegistryClient], Sequence[Record]]
"""Registers what a topic's producer registers, and gives its records."""


@dataclass(frozen=True)
class OwnTopic:
    """One topic, the schema file that its owner has where the registry has none, and the rows by table.

    Args:
        rows: By what the table's name has behind the topic's: rows in the order of the records, or by key.
        dead: How many records become dead letters.
    """

    name: str
    send: Send
    rows: Mapping[str, Sequence[Row]]
    file: tuple[str, str] | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    dead: int = 0


AT = 1_760_000_000_123
MOMENT = datetime.fromtimestamp(AT // 1000, UTC).replace(microsecond=AT % 1000 * 1000)
PROTO = """syntax = "proto3";
package shop;
message Address { string city = 1; }
message Order { int64 id = 1; string customer = 2; Address address = 3; repeated int32 sizes = 4; }
"""
TRADE = record("Trade", [{"name": "symbol", "type": "string"}, {"name": "size", "type": "int"}], "shop")
KEY = record("Key", [{"name": "id", "type": "long"}], "shop")
CREATED, PAID = (
    record(name, [{"name": field, "type": "string"}], "shop")
    for name, field in (("Created", "who"), ("Paid", "how"))
)
SCHEMA = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
    "required": ["id"],
}


def as_json(*values: Any, key: bytes | None = b"k") -> Send:
    """JSON as most programs write it: without any schema."""
    return lambda topic, registry: [(key, json.dumps(value).encode()) for value in values]


def plainly(*records: Record) -> Send:
    """Bytes as they are."""
    return lambda topic, registry: records


def avro_bytes(schema: dict[str, Any], value: Any, schema_id: int | None = None) -> bytes:
    """A value in Avro, behind Confluent's header where it has an id."""
    stream = io.BytesIO()
    if schema_id is not None:
        stream.write(b"\0" + schema_id.to_bytes(4, "big"))
    fastavro.schemaless_writer(stream, fastavro.parse_schema(dict(schema)), value)
    return stream.getvalue()


def registered(registry: SchemaRegistryClient, subject: str, schema: Any, kind: str = "AVRO") -> int:
    text = schema if isinstance(schema, str) else json.dumps(schema)
    return int(registry.register_schema(subject, Schema(text, kind)))


def rows(*values: Row, key: Any = "k") -> dict[str, list[Row]]:
    """Rows of one table whose keys are texts."""
    return {"": [{"key": key, **value} for value in values]}


def _avro_with_keys(topic: str, registry: SchemaRegistryClient) -> list[Record]:
    key, value = registered(registry, f"{topic}-key", KEY), registered(registry, f"{topic}-value", TRADE)
    return [
        (avro_bytes(KEY, {"id": n}, key), avro_bytes(TRADE, {"symbol": "Z", "size": n}, value))
        for n in range(3)
    ]


def _avro(topic: str, registry: SchemaRegistryClient) -> list[Record]:
    schema_id = registered(registry, f"{topic}-value", TRADE)
    return [(b"k", avro_bytes(TRADE, {"symbol": "Z", "size": n}, schema_id)) for n in range(3)]


def _json_schema(topic: str, registry: SchemaRegistryClient) -> list[Record]:
    head = b"\0" + registered(registry, f"{topic}-value", SCHEMA, "JSON").to_bytes(4, "big")
    return [(b"k", head + json.dumps({"id": 1, "name": "a"}).encode()), (b"k", head + b'{"id": 2}')]


def _json_schema_alone(topic: str, registry: SchemaRegistryClient) -> list[Record]:
    registered(registry, f"{topic}-value", SCHEMA, "JSON")
    return [(b"k", b'{"id": 1, "name": "a"}')]


def _protobuf(topic: str, registry: SchemaRegistryClient) -> list[Record]:
    schema_id = registered(registry, f"{topic}-value", PROTO, "PROTOBUF")
    return [(b"k", framed(schema_id, order(n), b"\x02\x02")) for n in range(2)]


def _protobuf_alone(topic: str, registry: SchemaRegistryClient) -> list[Record]:
    registered(registry, f"{topic}-value", PROTO, "PROTOBUF")
    return [(b"k", order(n)) for n in range(2)]


def _several(topic: str, registry: SchemaRegistryClient) -> list[Record]:
    ids = [registered(registry, f"{topic}-shop.{s['name']}", s) for s in (CREATED, PAID)]
    return [
        (b"k", avro_bytes(CREATED, {"who": "ann"}, ids[0])),
        (b"k", avro_bytes(PAID, {"how": "card"}, ids[1])),
        (b"k", avro_bytes(CREATED, {"who": "bob"}, ids[0])),
    ]


def order(number: int) -> bytes:
    """The second message of the file."""
    made = message_class(PROTO, "shop.Order")(id=number + 1, customer="ann", sizes=[3, 4])
    made.address.city = "Oslo"
    return bytes(made.SerializeToString())


ORDERS = [
    {"id": n, "customer": "ann", "address": {"city": "Oslo"}, "sizes": [3, 4]} for n in (1, 2)
]  # fmt: skip


def _change(op: str, before: Any, after: Any) -> dict[str, Any]:
    source = {**ORIGIN, "ts_ms": AT, "lsn": 7}
    return {"before": before, "after": after, "source": source, "op": op, "ts_ms": AT, "transaction": None}


def _debezium(topic: str, registry: SchemaRegistryClient) -> list[Record]:
    one, two = {"id": 1, "name": "ann"}, {"id": 2, "name": "bob"}
    sent = [
        ({"id": 1}, _change("c", None, one)),
        ({"id": 2}, _change("c", None, two)),
        ({"id": 1}, _change("u", one, {**one, "name": "eve"})),
        ({"id": 2}, _change("d", two, None)),
    ]
    changes: list[Record] = [(json.dumps(k).encode(), json.dumps(v).encode()) for k, v in sent]
    return [*changes, (b'{"id": 2}', None)]


ROW = [
    {"type": "int32", "optional": False, "field": "id"},
    {"type": "string", "optional": True, "field": "name"},
    {
        "type": "bytes", "optional": True, "field": "price", "version": 1,
        "name": "org.apache.kafka.connect.data.Decimal",
        "parameters": {"scale": "2", "connect.decimal.precision": "10"},
    },
    {"type": "int64", "optional": True, "field": "at", "name": "io.debezium.time.MicroTimestamp"},
]  # fmt: skip
SOURCE = [
    *({"type": "string", "optional": False, "field": name} for name in ORIGIN),
    *({"type": "int64", "optional": False, "field": name} for name in ("ts_ms", "lsn")),
]


def _struct(fields: Sequence[Any], field: str = "", optional: bool = False) -> dict[str, Any]:
    named = {"field": field} if field else {}
    return {"type": "struct", "fields": list(fields), "optional": optional, "name": f"shop.{field}", **named}


ENVELOPE = _struct(
    [
        _struct(ROW, "before", True),
        _struct(ROW, "after", True),
        _struct(SOURCE, "source"),
        {"type": "string", "optional": False, "field": "op"},
        {"type": "int64", "optional": True, "field": "ts_ms"},
    ]
)


def _debezium_with_schemas(topic: str, registry: SchemaRegistryClient) -> list[Record]:
    def sent(schema: Any, payload: Any) -> bytes:
        return json.dumps({"schema": schema, "payload": payload}).encode()

    price = base64.b64encode((150).to_bytes(2, "big")).decode()
    after = {"id": 1, "name": "ann", "price": price, "at": AT * 1000}
    key = _struct([{"type": "int32", "optional": False, "field": "id"}])
    return [(sent(key, {"id": 1}), sent(ENVELOPE, _change("r", None, after)))]


def _debezium_avro(topic: str, registry: SchemaRegistryClient) -> list[Record]:
    key, value = record("Key", KEY_FIELDS), avro_envelope()
    ids = registered(registry, f"{topic}-key", key), registered(registry, f"{topic}-value", value)
    after = {"key": "a", "quantity": 1, "note": None, "at": AT * 1000, "seen": SEEN}
    assert {f["name"] for f in FIELDS} == after.keys()
    change = {**_change("c", None, after), "source": {**ORIGIN, "ts_ms": AT, "txId": None, "lsn": 7}}
    return [(avro_bytes(key, {"key": "a"}, ids[0]), avro_bytes(value, change, ids[1]))]


TRADES = [{"symbol": "Z", "size": n} for n in range(3)]
TEXT = "Gr\u00fc\u00dfe, line\n2"

OWN_TOPICS: tuple[OwnTopic, ...] = (
    OwnTopic(
        "flat",
        as_json({"id": 1, "price": 2.5, "ok": True}, {"id": 2, "price": 3, "ok": False}),
        rows({"id": 1, "price": 2.5, "ok": True}, {"id": 2, "price": 3.0, "ok": False}),
    ),
    OwnTopic(
        "nested",
        as_json({"id": 1, "address": {"city": "Oslo", "at": {"x": 1.5}}}),
        rows({"id": 1, "address": {"city": "Oslo", "at": {"x": 1.5}}}),
    ),
    OwnTopic(
        "arrays",
        as_json({"tags": ["a", None], "lines": [{"sku": "x", "n": 1}, {"sku": "y"}], "none": []}),
        rows({"tags": ["a", None], "lines": [{"sku": "x", "n": 1}, {"sku": "y", "n": None}], "none": "[]"}),
    ),
    OwnTopic(
        "mixed",
        as_json({"value": 1}, {"value": "one"}, {"value": {"a": 1}}),
        rows({"value": "1"}, {"value": '"one"'}, {"value": '{"a":1}'}),
    ),
    OwnTopic(
        "optional",
        as_json({"id": 1, "note": None}, {"id": 2}, {"id": 3, "note": "x", "more": None}),
        rows(
            {"id": 1, "note": None, "more": None},
            {"id": 2, "note": None, "more": None},
            {"id": 3, "note": "x", "more": None},
        ),
    ),
    OwnTopic(
        "text_times",
        as_json({"placed_at": "2025-10-09T08:53:20Z", "day": "2025-10-09"}),
        rows({"placed_at": "2025-10-09T08:53:20Z", "day": "2025-10-09"}),
    ),
    OwnTopic("millis", as_json({"created_at": AT, "id": AT}), rows({"created_at": MOMENT, "id": AT})),
    OwnTopic(
        "odd_names", as_json({"Order ID": 1}), {"": [{"key": "k", "value": '{"Order ID": 1}'}]}
    ),
    OwnTopic(
        "empty_values",
        lambda topic, registry: [*((b"k", b'{"id": %d}' % n) for n in range(19)), (b"k", b"")],
        rows(*({"id": n} for n in range(19))),
        dead=1,
    ),
    OwnTopic("json_schema", _json_schema, rows({"id": 1, "name": "a"}, {"id": 2, "name": None})),
    OwnTopic("json_alone", _json_schema_alone, rows({"id": 1, "name": "a"})),
    OwnTopic("protobuf", _protobuf, rows(*ORDERS)),
    OwnTopic("protobuf_alone", _protobuf_alone, rows(*ORDERS)),
    OwnTopic(
        "protobuf_file", plainly(*((b"k", order(n)) for n in range(2))), rows(*ORDERS), ("order.proto", PROTO)
    ),
    OwnTopic("avro", _avro, rows(*TRADES)),
    OwnTopic("avro_keys", _avro_with_keys, {"": [{"id": row["size"], **row} for row in TRADES]}),
    OwnTopic(
        "avro_file",
        plainly(*((b"k", avro_bytes(TRADE, row)) for row in TRADES)),
        rows(*TRADES),
        ("trade.avsc", json.dumps(TRADE)),
    ),
    OwnTopic("text", plainly((b"k", TEXT.encode()), (b"k", b"")), rows({"value": TEXT}, {"value": ""})),
    OwnTopic(
        "csv",
        plainly((None, b'1,"a,b",2.5'), (None, b"2,c,3")),
        {"": [{"value": '1,"a,b",2.5'}, {"value": "2,c,3"}]},
    ),
    OwnTopic("binary", plainly((b"k", b"\xff\xfe\0")), rows({"value": b"\xff\xfe\0"})),
    OwnTopic(
        "long_keys",
        plainly(*((struct.pack(">q", n), b"v") for n in (1, 300))),
        {"": [{"key": struct.pack(">q", n), "value": "v"} for n in (1, 300)]},
    ),
    OwnTopic(
        "compacted",
        plainly((b"a", b"one"), (b"b", b"two"), (b"a", None)),
        {"": [{"key": "a", "value": "one"}, {"key": "b", "value": "two"}, {"key": "a", "value": None}]},
        config={"cleanup.policy": "compact"},
    ),
    OwnTopic("debezium", _debezium, {"": [{"id": 1, "name": "eve"}]}),
    OwnTopic(
        "debezium_with_schemas",
        _debezium_with_schemas,
        {
            "": [
                {
                    "id": 1, "name": "ann", "price": Decimal("1.50"),
                    "at": MOMENT.replace(tzinfo=None),
                }
            ]
        },
    ),
    OwnTopic(
        "debezium_avro",
        _debezium_avro,
        {
            "": [
                {
                    "key": "a", "quantity": 1, "note": None, "at": MOMENT.replace(tzinfo=None),
                    "seen": datetime.fromisoformat(SEEN).astimezone(UTC),
                }
            ]
        },
    ),
    OwnTopic(
        "several",
        _several,
        {
            "__created": [{"key": "k", "who": "ann"}, {"key": "k", "who": "bob"}],
            "__paid": [{"key": "k", "how": "card"}],
        },
    ),
)  # fmt: skip
