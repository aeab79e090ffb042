"""Schemas for `from_avro` under which it takes no damaged value for a good one.

Spark keeps the low 64 bits of a decimal of at most 18 digits (2^64 + 5 in a decimal(9,2) lands as 0.05),
and Java takes every byte but 1 as false. So such decimals are read with 38 digits, booleans as the byte
that they are; `conversion` turns them back, and checks them. An int whose fifth byte has too many bits
stays unseen: to read each as a long would cost every record.
"""

from __future__ import annotations

from typing import Any

__all__ = ["BOOLEAN", "exact_reader", "exact_writer"]

BOOLEAN = {"type": "fixed", "name": "frazil.boolean", "size": 1}
"""A boolean as its byte."""

_DIGITS, _LONG_DIGITS, _LONG_BYTES = 38, 18, 8


def exact_writer(tree: Any) -> Any:
    """The writer's tree, for Spark. It needs no defaults."""
    return _exact(tree, writer=True)


def exact_reader(tree: Any) -> Any:
    """The reader's tree, as `reader_for` gave it: only what is not written has a default."""
    return _exact(tree, writer=False)


def _exact(node: Any, writer: bool) -> Any:
    if isinstance(node, list):
        return [_exact(b, writer) for b in node]
    match node["type"]:
        case "boolean":
            return BOOLEAN
        case "record":
            return {**node, "fields": [_field(f, writer) for f in node["fields"]]}
        case "array":
            return {**node, "items": _exact(node["items"], writer)}
        case "map":
            return {**node, "values": _exact(node["values"], writer)}
        case _ if node.get("logicalType") == "decimal" and _is_cut(node):
            return {**node, "precision": _DIGITS}
        case _:
            return node


def _field(field: dict[str, Any], writer: bool) -> dict[str, Any]:
    if "default" in field and not writer:
        return field
    kept = {k: v for k, v in field.items() if k != "default"}
    return {**kept, "type": _exact(field["type"], writer)}


def _is_cut(decimal: dict[str, Any]) -> bool:
    short = decimal["precision"] <= _LONG_DIGITS
    return bool(short and decimal.get("size", _LONG_BYTES + 1) > _LONG_BYTES)
