"""The columns of a JSON record by Python's parser: what a table must hold; this decoder lands nothing."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

from frazil.formats import logical
from frazil.formats.bare import Bare, Unknown
from frazil.formats.json.nodes import Branches, Entries, Items, Members, Node, Pairs, Scalar
from frazil.formats.json.reasons import Repeated, fault

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EXACT = Context(prec=10_000)
_THOUSANDFOLD = ("time_millis", "millis", "local_millis")


def columns_of_text(node: Node, columns: logical.Struct, payload: bytes) -> Bare:
    """The columns that a text becomes, which is what its schema says."""
    found = json.loads(payload, parse_float=Decimal, object_pairs_hook=Repeated)
    if isinstance(node, Members):
        held: Bare = _value(node, found)
        return held
    return {columns.fields[0].name: _value(node, found)}


def _value(node: Node, found: Any) -> Any:
    if found is None:
        return None
    match node:
        case Scalar():
            return _scalar(node, found)
        case Items():
            return [_value(node.element, each) for each in found]
        case Entries():
            return [(key, _value(node.value, each)) for key, each in found.items()]
        case Pairs():
            return [(_value(node.key, e.get("key")), _value(node.value, e.get("value"))) for e in found]
        case Members():
            return {m.name: _value(m.node, found.get(m.name)) for m in node.members}
        case Branches():
            taken = next((m for m in node.members if fault(m.node, found) is None), None)
            return {m.name: _value(m.node, found) if m is taken else None for m in node.members}


def _scalar(node: Scalar, found: Any) -> Any:
    match node.wire:
        case "json":
            return Unknown("a text in the place of what no column holds")
        case "base64":
            return base64.b64decode(found)
        case "base64_number":
            assert isinstance(node.type, logical.Decimal)
            unscaled = int.from_bytes(base64.b64decode(found), "big", signed=True)
            return Decimal(unscaled).scaleb(-node.type.scale, _EXACT)
        case "number":
            return Decimal(found)
        case "float" | "double":
            return float(found)
        case "zoned":
            return (datetime.fromisoformat(found) - _EPOCH) // timedelta(microseconds=1)
        case wire:
            return found * 1000 if wire in _THOUSANDFOLD else found
