"""A field's default, which a schema has as JSON, as Avro would write it."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

from frazil.formats.avro.decoding.canonical import varint

_OF_JSON: dict[str, tuple[type, ...]] = {
    "null": (type(None),), "boolean": (bool,), "int": (int,), "long": (int,), "float": (int, float),
    "double": (int, float), "string": (str,), "bytes": (str,), "fixed": (str,), "enum": (str,),
    "array": (list,), "map": (dict,), "record": (dict,),
}  # fmt: skip


def default_payload(node: Any, value: Any) -> bytes:
    """The bytes of a default; raises ValueError, KeyError or struct.error if it has another type."""
    if isinstance(node, list):
        number = next((n for n, b in enumerate(node) if _holds(b, value)), 0)  # as Java chooses
        return varint(number) + default_payload(node[number], value)
    if not _holds(node, value):
        raise ValueError(f"{value!r:.100} is no {node['type']}")
    match node["type"]:
        case "record":
            return b"".join(_part(field, value) for field in node["fields"])
        case "array":
            return _block(default_payload(node["items"], item) for item in value)
        case "map":
            return _block(_text(key) + default_payload(node["values"], v) for key, v in value.items())
        case _:
            return _scalar(node, value)


def _scalar(node: dict[str, Any], value: Any) -> bytes:
    match node["type"]:
        case "null":
            return b""
        case "boolean":
            return bytes([value])
        case "int" | "long":
            return varint(value)
        case "float" | "double":
            return struct.pack("<f" if node["type"] == "float" else "<d", value)
        case "string":
            return _text(value)
        case "enum":
            return varint(node["symbols"].index(value))
        case "bytes":
            return varint(len(value)) + bytes(value.encode("latin-1"))
        case _:
            return bytes(value.encode("latin-1"))


def _part(field: dict[str, Any], value: dict[str, Any]) -> bytes:
    name = field["name"]
    return default_payload(field["type"], value[name] if name in value else field["default"])


def _block(items: Iterable[bytes]) -> bytes:
    encoded_items = list(items)
    return (varint(len(encoded_items)) + b"".join(encoded_items) if encoded_items else b"") + b"\0"


def _text(text: str) -> bytes:
    raw = text.encode()
    return varint(len(raw)) + raw


def _holds(node: dict[str, Any], value: Any) -> bool:
    fits = isinstance(value, _OF_JSON[node["type"]])
    return fits and (node["type"] == "boolean" or not isinstance(value, bool))
