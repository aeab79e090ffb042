"""Changes of a database's table as Debezium writes them: in Avro, in JSON, in JSON with embedded schemas."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import fastavro
from confluent_kafka.schema_registry import Schema

from kit.records.producing import Sent, send
from kit.records.topics import MakeTopic
from kit.records.upserts import Change, Upserts

Written = Literal["avro", "json", "embedded"]
"""How keys and values are written; `embedded` is `{schema, payload}` without a header."""

KEY_FIELDS = [{"name": "key", "type": "string"}]
MICROS = {"type": "long", "connect.version": 1, "connect.name": "io.debezium.time.MicroTimestamp"}
ZONED = {"type": "string", "connect.version": 1, "connect.name": "io.debezium.time.ZonedTimestamp"}
FIELDS: list[dict[str, Any]] = [
    *KEY_FIELDS,
    {"name": "quantity", "type": "int"},
    {"name": "note", "type": ["null", "string"], "default": None},
    {"name": "at", "type": ["null", MICROS], "default": None},
    {"name": "seen", "type": ["null", ZONED], "default": None},
]
ORIGIN = {
    "version": "3.2.0.Final", "connector": "postgresql", "name": "shop", "snapshot": "false", "db": "shop",
    "schema": "public", "table": "orders",
}  # fmt: skip
SOURCE: list[dict[str, Any]] = [
    *({"name": name, "type": "string"} for name in ORIGIN),
    {"name": "ts_ms", "type": "long"},
    {"name": "txId", "type": ["null", "long"], "default": None},
    {"name": "lsn", "type": ["null", "long"], "default": None},
]
SEEN = "2025-10-09T08:53:20.5+02:00"
AT = 1_760_000_000_123_456
"""Microseconds of the column `at` of each row: 2025-10-09 08:53:20.123456."""


def record(
    name: str, fields: Iterable[dict[str, Any]], namespace: str = "shop.public.orders"
) -> dict[str, Any]:
    """A record's schema, as Confluent's converter makes it of Connect's."""
    own = {"type": "record", "name": name, "namespace": namespace, "fields": list(fields)}
    return {**own, "connect.name": f"{namespace}.{name}"}


def avro_envelope(fields: Iterable[dict[str, Any]] = FIELDS) -> dict[str, Any]:
    """The values' schema."""
    block = record(
        "block", [{"name": "id", "type": "string"}, {"name": "total_order", "type": "long"}], "event"
    )
    return record(
        "Envelope",
        [
            {"name": "before", "type": ["null", record("Value", fields)], "default": None},
            {"name": "after", "type": ["null", "Value"], "default": None},
            {"name": "source", "type": record("Source", SOURCE, "io.debezium.connector.postgresql")},
            {"name": "transaction", "type": ["null", block], "default": None},
            {"name": "op", "type": "string"},
            {"name": "ts_ms", "type": ["null", "long"], "default": None},
        ],
    )


def _optional(schema: dict[str, Any]) -> dict[str, Any]:
    return {"oneOf": [{"type": "null"}, schema]}


_TEXT = {"type": "string"}
_INT, _LONG = ({"type": "integer", "connect.type": kind} for kind in ("int32", "int64"))
JSON_ROW = {
    "type": "object",
    "properties": {
        "key": {**_TEXT, "connect.index": 0},
        "quantity": {**_INT, "connect.index": 1},
        "note": {**_optional(_TEXT), "connect.index": 2},
        "at": {
            "connect.index": 3,
            **_optional({**_LONG, "title": "io.debezium.time.MicroTimestamp", "connect.version": 1}),
        },
        "seen": {"connect.index": 4, **_optional({**_TEXT, "title": "io.debezium.time.ZonedTimestamp"})},
    },
    "required": ["key", "quantity"],
}
JSON_KEY = {"type": "object", "properties": {"key": _TEXT}, "required": ["key"]}
JSON_ENVELOPE = {
    "type": "object",
    "title": "shop.public.orders.Envelope",
    "properties": {
        "before": _optional(JSON_ROW),
        "after": _optional(JSON_ROW),
        "source": {
            "type": "object",
            "properties": {
                **dict.fromkeys(ORIGIN, _TEXT),
                "ts_ms": _LONG,
                "txId": _optional(_LONG),
                "lsn": _optional(_LONG),
            },
        },
        "op": _TEXT,
        "ts_ms": _optional(_LONG),
    },
    "required": ["op"],
}


def embedded(schema: dict[str, Any]) -> dict[str, Any]:
    """What stands beside a payload is not told: nobody reads it."""
    return {"type": "object", "properties": {"payload": schema}, "required": ["payload"]}


@dataclass
class Captured(Upserts):
    """A topic of Debezium's changes, and the rows that the source has."""

    written: Written = "avro"
    tombstones: bool = True
    chance: random.Random = field(default_factory=lambda: random.Random(7))
    lsn: int = 1000
    moment: int = AT // 1000  # when the source makes the next change, in milliseconds
    text: str = ""  # behind each note

    def send(
        self, changes: Iterable[Change], partition: int | None = None, *, plain: str = "", **more: Any
    ) -> list[Change]:
        """See `Upserts.send`; a delete is followed by a tombstone."""
        sent_changes, records, count = list[Change](), list[Sent](), self.topic.partitions
        for change in changes:
            place = sum(change[0].encode()) % count if partition is None else partition
            for key, value in self.records(*change):
                records.append((key, value, place))
                sent_changes.append(change)
        send(self.topic.connections.settings, self.topic.name, records, plain=plain, aborted="ahead", **more)
        self.sent += len(sent_changes)
        return sent_changes

    def records(self, key: str, quantity: int | None) -> Iterator[tuple[bytes, bytes | None]]:
        """The records of one change."""
        before = self.rows.get(key)
        if quantity is not None:
            op = self.chance.choice("cr") if before is None else "u"
            self.rows[key] = quantity
            yield self.key(key), self.value(op, self.row(key, before), self.row(key, quantity))
            return
        self.rows.pop(key, None)
        yield self.key(key), self.value("d", self.row(key, before or 0), None)
        if self.tombstones:
            yield self.key(key), None

    def row(self, key: str, quantity: int | None) -> dict[str, Any] | None:
        """A row of the source."""
        return (
            None
            if quantity is None
            else {
                "key": key,
                "quantity": quantity,
                "note": f"n{quantity}{self.text}",
                "at": AT,
                "seen": SEEN,
            }
        )

    def key(self, key: str) -> bytes:
        return self.encoded("key", {"key": key})

    def value(  # type: ignore[override]
        self, op: str, before: dict[str, Any] | None, after: dict[str, Any] | None, **more: Any
    ) -> bytes:
        """An envelope as bytes."""
        self.lsn += 8
        old = before if op == "d" or self.chance.random() < 0.5 else None  # as REPLICA IDENTITY says
        source = {**ORIGIN, "ts_ms": self.moment, "txId": 7, "lsn": self.lsn}
        change = {
            "before": old,
            "after": after,
            "source": source,
            "op": op,
        }
        return self.encoded("value", {**change, "ts_ms": AT // 1000, "transaction": None, **more})

    def encoded(self, half: str, value: dict[str, Any]) -> bytes:
        """A key or a value as bytes, by its newest schema."""
        if self.written == "embedded":
            return json.dumps({"schema": {"type": "struct", "fields": []}, "payload": value}).encode()
        schema_id, schema = self._schemas[half]
        stream = io.BytesIO()
        stream.write(b"\0" + schema_id.to_bytes(4, "big"))
        if self.written == "json":
            stream.write(json.dumps({n: v for n, v in value.items() if n != "transaction"}).encode())
        else:
            fastavro.schemaless_writer(stream, schema, value)
        return stream.getvalue()

    @cached_property
    def _schemas(self) -> dict[str, tuple[int, Any]]:
        return {}

    def register(self, half: str, schema: dict[str, Any]) -> None:
        """Registers a version, which further records are written with."""
        subject, registry = f"{self.topic.name}-{half}", self.topic.connections.registry
        kind = "AVRO" if self.written == "avro" else "JSON"
        registry.set_compatibility(subject, level="NONE")
        schema_id = int(registry.register_schema(subject, Schema(json.dumps(schema), kind)))
        self._schemas[half] = schema_id, fastavro.parse_schema(schema) if kind == "AVRO" else schema


def captured(make_topic: MakeTopic, written: Written = "avro", partitions: int = 2, **spec: Any) -> Captured:
    """A topic of its own, that Debezium would write."""
    framing = {"framing": "none"} if written == "embedded" else {}
    made = Captured(
        make_topic(partitions=partitions, trades=False, mode="cdc", **framing, **spec), written=written
    )
    key, value = {
        "avro": (record("Key", KEY_FIELDS), avro_envelope()),
        "json": (JSON_KEY, JSON_ENVELOPE),
        "embedded": (embedded(JSON_KEY), embedded(JSON_ENVELOPE)),
    }[written]
    made.register("key", key)
    made.register("value", value)
    return made
