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


def default_payload(node: Any, said: Any) -> bytes:
    """The bytes of a default; raises ValueError, KeyError or struct.error if it has another type."""
    if isinstance(node, list):
        number = next((n for n, b in enumerate(node) if _holds(b, said)), 0)  # as Java chooses
        return varint(number) + default_payload(node[number], said)
    if not _holds(node, said):
        raise ValueError(f"{said!r:.100} is no {node['type']}")
    match node["type"]:
        case "record":
            return b"".join(_part(field, said) for field in node["fields"])
        case "array":
            return _block(default_payload(node["items"], item) for item in said)
        case "map":
            return _block(_text(key) + default_payload(node["values"], v) for key, v in said.items())
        case _:
            return _scalar(node, said)


def _scalar(node: dict[str, Any], said: Any) -> bytes:
    match node["type"]:
        case "null":
            return b""
        case "boolean":
            return bytes([said])
        case "int" | "long":
            return varint(said)
        case "float" | "double":
            return struct.pack("<f" if node["type"] == "float" else "<d", said)
        case "string":
            return _text(said)
        case "enum":
            return varint(node["symbols"].index(said))
        case "bytes":
            return varint(len(said)) + bytes(said.encode("latin-1"))
        case _:
            return bytes(said.encode("latin-1"))


def _part(field: dict[str, Any], said: dict[str, Any]) -> bytes:
    name = field["name"]
    return default_payload(field["type"], said[name] if name in said else field["default"])


def _block(items: Iterable[bytes]) -> bytes:
    found = list(items)
    return (varint(len(found)) + b"".join(found) if found else b"") + b"\0"


def _text(said: str) -> bytes:
    raw = said.encode()
    return varint(len(raw)) + raw


def _holds(node: dict[str, Any], said: Any) -> bool:
    fits = isinstance(said, _OF_JSON[node["type"]])
    return fits and (node["type"] == "boolean" or not isinstance(said, bool))
