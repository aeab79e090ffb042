"""Records of texts whose fields have given names, in each format, by independent encoders.

A version is a tree of names: `{"qty": None, "orders[]": {"price": None}, "home{}": {"zip": None}}`. A text
may be absent. In Protobuf fields have their numbers by their places.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import fastavro
from google.protobuf.json_format import ParseDict

from kit.formats.protobuf import message_class

Version = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NamedFormat:
    """A format: the registry's word for it, the text of a version's schema, and a record's payload."""

    kind: str
    schema: Callable[[Version], str]
    payload: Callable[[Version, Any], bytes]

    def record(self, version: Version, schema_id: int, value: Any) -> bytes:
        """A record in Confluent's wire format."""
        indexes = b"\0" if self.kind == "PROTOBUF" else b""
        return b"\0" + schema_id.to_bytes(4, "big") + indexes + self.payload(version, value)

    def __str__(self) -> str:
        return self.kind.lower()


def _avro(version: Version, numbers: Any = None) -> Any:
    numbers = numbers or count()
    name = f"R{next(numbers)}"
    fields = []
    for word, inner in version.items():
        kind: Any = "string" if inner is None else _avro(inner, numbers)
        if word.endswith("[]"):
            kind = {"type": "array", "items": kind}
        elif word.endswith("{}"):
            kind = {"type": "map", "values": kind}
        fields.append({"name": word.rstrip("[]{}"), "type": ["null", kind], "default": None})
    return {"type": "record", "name": name, "fields": fields}


def _avro_payload(version: Version, value: Any) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(_avro(version)), value)
    return stream.getvalue()


def _json(version: Version) -> Any:
    properties = {}
    for word, inner in version.items():
        kind: Any = {"type": "string"} if inner is None else _json(inner)
        if word.endswith("[]"):
            kind = {"type": "array", "items": kind}
        elif word.endswith("{}"):
            kind = {"type": "object", "additionalProperties": kind}
        properties[word.rstrip("[]{}")] = kind
    return {"type": "object", "properties": properties}


def _message(version: Version, name: str = "R") -> str:
    lines = []
    for number, (word, inner) in enumerate(version.items(), 1):
        field = word.rstrip("[]{}")
        kind = "string" if inner is None else f"{name}{field.title().replace('_', '')}"
        if inner is not None:
            lines.append(_message(inner, kind))
        label = "repeated" if word.endswith("[]") else "" if word.endswith("{}") else "optional"
        kind = f"map<string, {kind}>" if word.endswith("{}") else kind
        lines.append(f"{label} {kind} {field} = {number};")
    return f"message {name} {{ {' '.join(lines)} }}"


def _proto(version: Version) -> str:
    return f'syntax = "proto3"; {_message(version)}'


def _proto_payload(version: Version, value: Any) -> bytes:
    payload: bytes = ParseDict(value, message_class(_proto(version), "R")()).SerializeToString()
    return payload


AVRO = NamedFormat("AVRO", lambda version: json.dumps(_avro(version)), _avro_payload)
JSON = NamedFormat("JSON", lambda version: json.dumps(_json(version)), lambda _, v: json.dumps(v).encode())
PROTOBUF = NamedFormat("PROTOBUF", _proto, _proto_payload)
FORMATS = (AVRO, JSON, PROTOBUF)
