"""Random schemas and records in each format's own terms, by independent encoders."""

from __future__ import annotations

import io
import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import fastavro
from google.protobuf.json_format import ParseDict

from kit.drawn.random_records import DECIMAL, SYMBOLS, Group, Kind, Many, Maybe, Named, Scalar
from kit.formats.protobuf import message_class

__all__ = ["AVRO", "HEAD", "JSON", "PROTOBUF", "RANDOM_FORMATS", "RandomFormat", "as_json"]

Encode = Callable[[dict[str, Any]], bytes]


@dataclass(frozen=True, slots=True)
class RandomFormat:
    """How a format says what a random record is.

    Args:
        name: As in a spec.
        scalars: The scalar kinds that it knows.
        schema: The text for the registry.
        encoder: Makes the function that encodes one record, without the wire format's header.
        header: What follows the schema id in the wire format.
        bare_nesting: Whether lists and maps may hold lists, maps and nulls.
    """

    name: str
    scalars: frozenset[str]
    schema: Callable[[Group], str]
    encoder: Callable[[Group], Encode]
    header: bytes = b""
    bare_nesting: bool = True


AVRO: dict[str, Any] = {
    **{word: word for word in ("boolean", "int", "long", "float", "double", "string", "bytes")},
    "date": {"type": "int", "logicalType": "date"},
    "moment": {"type": "long", "logicalType": "timestamp-micros"},
    "decimal": {"type": "bytes", "logicalType": "decimal", "precision": DECIMAL[0], "scale": DECIMAL[1]},
}


def _avro_schema(group: Group) -> str:
    return json.dumps(_avro(group, "root"))


def _avro(kind: Kind, path: str) -> Any:
    """Named types take their names from their paths: each may be defined once."""
    match kind:
        case Scalar("enum"):
            return {"type": "enum", "name": f"enum_{path}", "symbols": SYMBOLS}
        case Scalar():
            return AVRO[kind.word]
        case Maybe():
            return ["null", _avro(kind.of, path)]
        case Many():
            return {"type": "array", "items": _avro(kind.of, f"{path}_e")}
        case Named():
            return {"type": "map", "values": _avro(kind.of, f"{path}_v")}
        case Group():
            fields = [{"name": name, "type": _avro(of, f"{path}_{name}")} for name, of in kind.fields]
            return {"type": "record", "name": f"record_{path}", "fields": fields}


def _avro_encoder(group: Group) -> Encode:
    schema = fastavro.parse_schema(json.loads(_avro_schema(group)))

    def encode(record: dict[str, Any]) -> bytes:
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, schema, record)
        return stream.getvalue()

    return encode


JSON: dict[str, Any] = {
    "boolean": {"type": "boolean"},
    "int": {"type": "integer", "connect.type": "int32"},
    "long": {"type": "integer"},
    "double": {"type": "number"},
    "string": {"type": "string"},
    "enum": {"enum": SYMBOLS},
}


def _json_schema(group: Group) -> str:
    return json.dumps(_json(group))


def _json(kind: Kind) -> dict[str, Any]:
    match kind:
        case Scalar():
            return JSON[kind.word]  # type: ignore[no-any-return]
        case Maybe():
            return {"oneOf": [{"type": "null"}, _json(kind.of)]}
        case Many():
            return {"type": "array", "items": _json(kind.of)}
        case Named():
            return {"type": "object", "connect.type": "map", "additionalProperties": _json(kind.of)}
        case Group():
            return {
                "type": "object",
                "properties": {name: _json(of) for name, of in kind.fields},
                "required": [name for name, of in kind.fields if not isinstance(of, Maybe)],
            }


def _json_encoder(_: Group) -> Encode:
    return lambda record: json.dumps(record, ensure_ascii=False).encode()


PROTOBUF = {
    **{word: word for word in ("float", "double", "string", "bytes")},
    "boolean": "bool",
    "int": "int32",
    "long": "int64",
    "enum": "Colour",
    "moment": "google.protobuf.Timestamp",
}
HEAD = f"""syntax = "proto3";
import "google/protobuf/timestamp.proto";
enum Colour {{ {" ".join(f"{symbol} = {n};" for n, symbol in enumerate(SYMBOLS))} }}
"""


def _protobuf_schema(group: Group) -> str:
    """The record is the file's first message; the others follow it."""
    return HEAD + "\n".join(_messages(group, "M"))


def _messages(group: Group, path: str) -> Iterator[str]:
    fields = [
        f"{_label(kind, f'{path}_{name}')} {name} = {n};" for n, (name, kind) in enumerate(group.fields, 1)
    ]
    yield f"message {path} {{ {' '.join(fields)} }}"
    for name, kind in group.fields:
        inner = kind if isinstance(kind, Group | Scalar) else kind.of
        if isinstance(inner, Group):
            yield from _messages(inner, f"{path}_{name}")


def _label(kind: Kind, path: str) -> str:
    match kind:
        case Scalar():
            return PROTOBUF[kind.word]
        case Group():
            return path
        case Maybe():
            return f"optional {_label(kind.of, path)}"
        case Many():
            return f"repeated {_label(kind.of, path)}"
        case Named():
            return f"map<string, {_label(kind.of, path)}>"


def _protobuf_encoder(group: Group) -> Encode:
    message = message_class(_protobuf_schema(group), "M")
    return lambda record: bytes(ParseDict(as_json(group, record), message()).SerializeToString())


def as_json(kind: Kind, value: Any) -> Any:
    """Protobuf's own JSON of a value."""
    match kind:
        case Group():
            fields = {name: as_json(of, value[name]) for name, of in kind.fields}
            return {name: inner for name, inner in fields.items() if inner is not None}
        case Maybe():
            return None if value is None else as_json(kind.of, value)
        case Many():
            return [as_json(kind.of, v) for v in value]
        case Named():
            return {k: as_json(kind.of, v) for k, v in value.items()}
        case Scalar("bytes"):
            return b64encode(value).decode()
        case Scalar("moment"):
            return value.isoformat()
        case _:
            return value


RANDOM_FORMATS = (
    RandomFormat("avro", frozenset({*AVRO, "enum"}), _avro_schema, _avro_encoder),
    RandomFormat("json", frozenset(JSON), _json_schema, _json_encoder),
    RandomFormat("protobuf", frozenset(PROTOBUF), _protobuf_schema, _protobuf_encoder, b"\0", False),
)
