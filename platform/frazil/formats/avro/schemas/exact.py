"""Schemas under which no reader of Avro takes a damaged value for a good one.

Some keep the low 32 bits of an int, and take any byte but 0 for true. So ints are read as longs, booleans as
the byte that they are; readers that use these schemas check both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from frazil.formats.avro.schemas.parser import children, most_digits
from frazil.formats.logical import MAX_DIGITS

BOOLEAN = {"type": "fixed", "name": "frazil.boolean", "size": 1}
"""A boolean as its byte."""

INT = {"type": "long", "logicalType": "frazil-int"}
DATE = {"type": "long", "logicalType": "frazil-date"}
"""An int or a date read as a long: Avro writes both alike."""

_LONG_DIGITS, _LONG_BYTES = 18, 8

DAY = {"time-millis": 86_400_000, "time-micros": 86_400_000_000}
"""The end of a day, by what is counted; PostgreSQL's `time` and Protobuf's TimeOfDay have 24:00:00."""


def exact_pair(writer: Any, reader: Any) -> tuple[Any, Any]:
    """A writer and its reader by `reader_for`, changed so that no value is read unchecked."""
    wide = not (_mixes(writer) or _mixes(reader))
    return _Exact(wide, defaults=False).tree(writer), _Exact(wide, defaults=True).tree(reader)


@dataclass(frozen=True, slots=True)
class _Exact:
    """One walk. If `wide`, ints become longs; if `defaults`, missing fields keep default and type."""

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
            case _ if node.get("logicalType") == "decimal":
                return {**node, "precision": digits_read(node)}
            case _:
                return node

    def _field(self, field: dict[str, Any]) -> dict[str, Any]:
        if "default" in field and self.defaults:
            # Null is the same of any type: then all versions of a schema are read alike.
            return {**field, "type": self.tree(field["type"])} if field["default"] is None else field
        kept = {k: v for k, v in field.items() if k != "default"}
        return {**kept, "type": self.tree(field["type"])}


def digits_read(decimal: dict[str, Any]) -> int:
    """Most digits with which a decimal is read: those that it declares, or all that few bytes hold."""
    return min(MAX_DIGITS, most_digits(decimal) if _is_cut(decimal) else decimal["precision"])


def _wide(node: dict[str, Any]) -> dict[str, Any]:
    match node.get("logicalType"):
        case "date":
            return DATE
        case "time-millis":
            return {**node, "type": "long"}
        case _:
            return INT


def _mixes(node: Any) -> bool:
    both = isinstance(node, list) and {"int", "long"} <= {b["type"] for b in node}
    return both or any(map(_mixes, children(node)))


def _is_cut(decimal: dict[str, Any]) -> bool:
    short = decimal["precision"] <= _LONG_DIGITS
    return bool(short and decimal.get("size", _LONG_BYTES + 1) > _LONG_BYTES)
