"""The columns of a JSON record by Python's parser: what a table must hold; this decoder lands nothing."""

from __future__ import annotations

import base64
import json
import math
import struct
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

from frazil.formats import logical
from frazil.formats.bare import Bare, Unknown
from frazil.formats.batches.local import ARE_ISO
from frazil.formats.json.nodes import Branches, Entries, Items, Member, Members, Node, Pairs, Scalar
from frazil.formats.json.reasons import Repeated

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EXACT = Context(prec=10_000)
_THOUSANDFOLD = ("time_millis", "millis", "local_millis")


def columns_of_text(node: Node, columns: logical.Struct, payload: bytes) -> Bare:
    """The columns that a text becomes, which is what its schema says."""
    record = json.loads(payload, parse_float=Decimal, object_pairs_hook=Repeated)
    if isinstance(node, Members):
        columns_by_name: Bare = _value(node, record)
        return columns_by_name
    return {columns.fields[0].name: _value(node, record)}


def _value(node: Node, value: Any) -> Any:
    if value is None:
        return None
    match node:
        case Scalar():
            return _scalar(node, value)
        case Items():
            return [_value(node.element, each) for each in value]
        case Entries():
            return [(key, _value(node.value, each)) for key, each in value.items()]
        case Pairs():
            return [(_value(node.key, e.get("key")), _value(node.value, e.get("value"))) for e in value]
        case Members():
            return {m.name: _value(m.node, value.get(m.key)) for m in node.members}
        case Branches():
            taken = _taken(node, value)
            return {m.name: _value(m.node, value) if m is taken else None for m in node.members}


def _taken(node: Branches, value: Any) -> Member | None:
    """Of the branches that a value fits the one that knows most of its keys; of equals the first."""
    fitting = [member for member in node.members if _fits(member.node, value)]
    return max(fitting, key=lambda member: _known(member.node, value), default=None)


def _known(node: Node, value: Any) -> int:
    return len({m.key for m in node.members} & value.keys()) if isinstance(node, Members) else 0


def _fits(node: Node, value: Any, optional: bool = False) -> bool:
    if value is None:
        return optional
    match node, value:
        case Scalar(), _:
            return _is(node, value) and (node.allowed is None or _is_one_of(node.allowed, value))
        case Items(), list():
            return all(_fits(node.element, each, node.optional) for each in value)
        case Entries(), Repeated():
            alone = value.again is None
            return alone and all(_fits(node.value, each, node.optional) for each in value.values())
        case Pairs(), list():
            return _are_entries(node, value)
        case Members(), dict():
            return all(_fits(m.node, value.get(m.key), m.optional) for m in node.members)
        case Branches(), _:
            return _taken(node, value) is not None
    return False


def _are_entries(node: Pairs, entries: list[Any]) -> bool:
    if not all(isinstance(each, dict) for each in entries):
        return False
    keys = {repr(each.get("key")) for each in entries}
    return len(keys) == len(entries) and all(
        _fits(node.key, each.get("key")) and _fits(node.value, each.get("value"), node.optional)
        for each in entries
    )


def _is(node: Scalar, value: Any) -> bool:
    """Whether a value is written as a scalar is, within its bounds. Python counts truth as a number."""
    number = isinstance(value, int | Decimal) and not isinstance(value, bool)
    match node.wire:
        case "json":
            return True
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "float" | "double":
            return number and math.isfinite(_rounded(node.wire, value))
        case "number":
            assert isinstance(node.type, logical.Decimal)
            return number and node.type.holds(Decimal(value))
        case "base64" | "base64_number":
            return isinstance(value, str) and _is_base64(node, value)
        case "zoned" | "local" | "day":
            return isinstance(value, str) and ARE_ISO[node.wire][0](value)
        case _:
            low, high = node.bounds or (-(2**63), 2**63 - 1)
            return isinstance(value, int) and number and low <= value <= high


def _rounded(wire: str, number: int | Decimal) -> float:
    try:
        return float(number) if wire == "double" else float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return math.inf


def _is_base64(node: Scalar, text: str) -> bool:
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        return False
    match node.type:
        case logical.Fixed():
            return len(raw) == node.type.length
        case logical.Decimal():
            unscaled = int.from_bytes(raw, "big", signed=True)
            return 1 <= len(raw) <= 16 and node.type.holds(Decimal(unscaled).scaleb(-node.type.scale, _EXACT))
    return True


def _is_one_of(allowed: tuple[Any, ...], value: Any) -> bool:
    return any(isinstance(each, bool) == isinstance(value, bool) and each == value for each in allowed)


def _scalar(node: Scalar, value: Any) -> Any:
    match node.wire:
        case "digits":
            return format(Decimal(value), "f")
        case "base64_digits":
            unscaled = int.from_bytes(base64.b64decode(value), "big", signed=True)
            return format(Decimal(unscaled).scaleb(-node.declared[1], _EXACT), "f")
        case "json":
            return Unknown("a text in the place of what no column holds")
        case "base64":
            return base64.b64decode(value)
        case "base64_number":
            assert isinstance(node.type, logical.Decimal)
            unscaled = int.from_bytes(base64.b64decode(value), "big", signed=True)
            return Decimal(unscaled).scaleb(-node.type.scale, _EXACT)
        case "number":
            return Decimal(value)
        case "float" | "double":
            return float(value)
        case "zoned" | "local" | "day":
            return _of_iso(node.wire, value)
        case wire:
            return value * 1000 if wire in _THOUSANDFOLD else value


def _of_iso(wire: str, text: str) -> int:
    """Days, or microseconds, since 1970."""
    if wire == "day":
        return (date.fromisoformat(text) - _EPOCH.date()).days
    moment = datetime.fromisoformat(text)
    return (moment.replace(tzinfo=moment.tzinfo or UTC) - _EPOCH) // timedelta(microseconds=1)
