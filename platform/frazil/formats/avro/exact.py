"""Schemas for `from_avro` under which it takes no damaged value for a good one.

Spark keeps the low 64 bits of a decimal of at most 18 digits (2^64 + 5 in a decimal(9,2) lands as 0.05),
Java the low 32 bits of an int, and it takes every byte but 1 as false. So such decimals are read with 38
digits, ints as longs, booleans as the byte that they are; `conversion` turns them back, and checks them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

__all__ = ["BOOLEAN", "DATE", "INT", "ExactPair", "exact_pair", "shape"]

BOOLEAN = {"type": "fixed", "name": "frazil.boolean", "size": 1}
"""A boolean as its byte."""

INT = {"type": "long", "logicalType": "frazil-int"}
DATE = {"type": "long", "logicalType": "frazil-date"}
"""Ints as longs, which are written alike."""

_NOTES = ("default", "aliases", "doc")
_DIGITS, _LONG_DIGITS, _LONG_BYTES = 38, 18, 8


@dataclass(frozen=True, slots=True)
class ExactPair:
    """The writer's and the reader's tree, for Spark."""

    writer: Any
    reader: Any


def exact_pair(writer: Any, reader: Any) -> ExactPair:
    """A writer and its reader, as `reader_for` gave it, with nothing that is read on trust.

    A union of int and long stays: it can't hold two longs.
    """
    wide = not (_mixes(writer) or _mixes(reader))
    return ExactPair(_Exact(wide, defaults=False).tree(writer), _Exact(wide, defaults=True).tree(reader))


@dataclass(frozen=True, slots=True)
class _Exact:
    """One walk.

    Args:
        wide: Whether ints become longs.
        defaults: Whether fields that are not written keep their defaults, and so their types.
    """

    wide: bool
    defaults: bool

    def tree(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self.tree(b) for b in node]
        match node["type"]:
            case "boolean":
                return BOOLEAN
            case "int" if self.wide:
                return _wide(node)
            case "record":
                return {**node, "fields": [self._field(f) for f in node["fields"]]}
            case "array":
                return {**node, "items": self.tree(node["items"])}
            case "map":
                return {**node, "values": self.tree(node["values"])}
            case _ if node.get("logicalType") == "decimal" and _is_cut(node):
                return {**node, "precision": _DIGITS}
            case _:
                return node

    def _field(self, field: dict[str, Any]) -> dict[str, Any]:
        if "default" in field and self.defaults:
            # Null is the same of any type: then all versions of a schema are read alike.
            return {**field, "type": self.tree(field["type"])} if field["default"] is None else field
        kept = {k: v for k, v in field.items() if k != "default"}
        return {**kept, "type": self.tree(field["type"])}


def shape(node: Any) -> str:
    """Equal for trees of which Spark makes the same type, and that are converted in the same way."""
    return json.dumps(_bare(node), sort_keys=True)


def _bare(node: Any) -> Any:
    if isinstance(node, list):
        return [_bare(b) for b in node]
    if isinstance(node, dict):
        return {k: _bare(v) for k, v in node.items() if k not in _NOTES}
    return node


def _wide(node: dict[str, Any]) -> dict[str, Any]:
    match node.get("logicalType"):
        case "date":
            return DATE
        case "time-millis":
            return {**node, "type": "long"}
        case _:
            return INT


def _mixes(node: Any) -> bool:
    if isinstance(node, list):
        return {"int", "long"} <= {b["type"] for b in node} or any(map(_mixes, node))
    match node["type"]:
        case "record":
            return any(_mixes(f["type"]) for f in node["fields"])
        case "array":
            return _mixes(node["items"])
        case "map":
            return _mixes(node["values"])
        case _:
            return False


def _is_cut(decimal: dict[str, Any]) -> bool:
    short = decimal["precision"] <= _LONG_DIGITS
    return bool(short and decimal.get("size", _LONG_BYTES + 1) > _LONG_BYTES)
