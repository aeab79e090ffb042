"""One topic whose records are of three formats, and name their schemas in seven ways.

The payloads are by fastavro, json and protobuf; what names their schemas is laid by hand, as the makers of
each wire say. What each record must become is known to the sender.
"""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import avro.schema
import fastavro
import requests
from confluent_kafka.schema_registry import Schema

from frazil.connections import Connections
from frazil.spec.topic import TableSpec
from kit.formats.protobuf import message_class
from kit.runs.waiting import PATIENCE

__all__ = ["FORMATS", "WIRES", "Mixed", "Sent", "guid_of", "with_guids"]

FIELDS = {"n": "int", "side": "string", "price": "int", "account": "string"}
FORMATS = ("avro", "json", "protobuf")
WIRES = ("prefix", "guid", "id_in_header", "content_id", "global_id", "long_id", "object")
OF_FORMAT: Mapping[str, Sequence[str]] = {"avro": WIRES, "json": WIRES[:-1], "protobuf": WIRES[:3]}
"""The last four are not of Protobuf, and the last one is of Avro alone."""

SCHEMAS = {
    "avro": json.dumps(
        {"type": "record", "name": "mixed.A", "fields": [{"name": n, "type": t} for n, t in FIELDS.items()]}
    ),
    "json": json.dumps({
        "title": "J", "type": "object", "required": list(FIELDS), "properties": {
            name: {"type": "integer", "connect.type": "int32"} if kind == "int" else {"type": kind}
            for name, kind in FIELDS.items()}}),
    "protobuf": 'syntax = "proto3"; package mixed; message P { int32 n = 1; string side = 2; '
    "int32 price = 3; string account = 4; }",
}  # fmt: skip
TYPES = {"avro": "mixed.A", "json": "mixed.J", "protobuf": "mixed.P"}

Headers = list[tuple[str, str | bytes | None]]
ENDS_EARLY, UNKNOWN = "truncated", "unknown"


@dataclass(frozen=True, slots=True)
class Sent:
    """One record: what it is, and how it says so; `bad` where it can't be read."""

    number: int
    format: str
    wire: str
    row: dict[str, Any]
    bad: str = ""


def guid_of(schema_id: int) -> uuid.UUID:
    """The GUID that the registry of `with_guids` tells for an id."""
    return uuid.uuid5(uuid.NAMESPACE_OID, str(schema_id))


def with_guids(_: object, body: bytes) -> bytes:
    """What Confluent's registry tells since its version 8, and Apicurio's does not: a GUID for each id."""
    try:
        answer = json.loads(body)
    except ValueError:
        return body
    if not isinstance(answer, dict) or "id" not in answer:
        return body
    return json.dumps({**answer, "guid": str(guid_of(answer["id"]))}).encode()


@dataclass
class Mixed:
    """Such a topic.

    Args:
        topic: Its name.
        wires: Those that its records have.
        bad: One in so many records can't be read; 0: none.
        ids: Schema ids, and Apicurio's global ones, by format.
    """

    topic: str
    wires: Sequence[str] = WIRES
    bad: int = 0
    ids: dict[str, tuple[int, int]] = field(default_factory=dict)

    def register(self, connections: Connections) -> None:
        """Registers a subject for each format."""
        api = connections.settings.registry.url.partition("/apis/")[0] + "/apis/registry/v3"
        for kind in FORMATS:
            subject = f"{self.topic}-{TYPES[kind]}"
            number = connections.registry.register_schema(subject, Schema(SCHEMAS[kind], kind.upper()))
            known = requests.get(f"{api}/groups/default/artifacts/{subject}/versions/1", timeout=PATIENCE)
            self.ids[kind] = (number, int(known.json()["globalId"]))

    def spec(self, kind: str, **more: Any) -> TableSpec:
        """The table of one format; records of the others are left out there."""
        return TableSpec.model_validate({
            "topic": self.topic, "subject_names": "topic_record", "record_type": TYPES[kind],
            "other_types": [TYPES[other] for other in FORMATS if other != kind], "key_format": "none",
            "on_bad_record": "dead_letter", "max_dead_letter_rate": 1.0, **more,
        })  # fmt: skip

    def sent(self, count: int) -> Iterator[Sent]:
        """What the records are, in order: each format by each of its wires in turn, or by the prefix."""
        every = [(kind, wire) for kind in FORMATS for wire in OF_FORMAT[kind]]
        pairs = [(kind, wire if wire in self.wires else WIRES[0]) for kind, wire in every]
        for number in range(count):
            kind, wire = pairs[number % len(pairs)]
            row = {"n": number, "side": ("BUY", "SELL")[number % 2], "price": number % 5000, "account": "ABC"}
            is_bad = self.bad and number % self.bad == self.bad - 1
            bad = (UNKNOWN if number % (2 * self.bad) == self.bad - 1 else ENDS_EARLY) if is_bad else ""
            yield Sent(number, kind, wire, row, bad)

    def record(self, sent: Sent) -> tuple[bytes, Headers]:
        """The value of a record, and its headers."""
        payload = _payload(sent.format, sent.row)
        if sent.bad == ENDS_EARLY:
            payload = payload[:-1] if sent.format != "protobuf" else payload[:-2]
        schema_id, global_id = self.ids[sent.format]
        if sent.bad == UNKNOWN:
            schema_id, global_id = 2**31 - 7, 2**31 - 7
        number, indexes = schema_id.to_bytes(4, "big"), b"\0" if sent.format == "protobuf" else b""
        headers: Headers = [("source", b"mixed")]
        match sent.wire:
            case "prefix":
                return b"\0" + number + indexes + payload, headers
            case "guid":
                return payload, [*headers, ("__value_schema_id", b"\1" + guid_of(schema_id).bytes + indexes)]
            case "id_in_header":
                return payload, [*headers, ("__value_schema_id", b"\0" + number + indexes)]
            case "content_id":
                return payload, [*headers, ("apicurio.value.contentId", schema_id.to_bytes(8, "big"))]
            case "global_id":
                return payload, [*headers, ("apicurio.value.globalId", global_id.to_bytes(8, "big"))]
            case "long_id":
                return b"\0" + global_id.to_bytes(8, "big") + payload, headers
        mark = bytes(8) if sent.bad == UNKNOWN else _MARK
        return b"\xc3\x01" + mark + payload, headers


_PARSED = fastavro.parse_schema(json.loads(SCHEMAS["avro"]))
_MARK = avro.schema.parse(SCHEMAS["avro"]).fingerprint()


def _payload(kind: str, row: dict[str, Any]) -> bytes:
    if kind == "json":
        return json.dumps(row).encode()
    if kind == "protobuf":
        return bytes(message_class(SCHEMAS["protobuf"], "mixed.P")(**row).SerializeToString())
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, _PARSED, row)
    return stream.getvalue()
