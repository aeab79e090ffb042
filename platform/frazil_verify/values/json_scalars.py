"""Values of JSON that are no objects and no arrays, as canonical ones. Source: docs/types.md."""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from typing import Any

from frazil_verify.values.bad import BadRecordError, NotComparedError, bad

Convert = Callable[[Any], Any]
_DECIMAL = "org.apache.kafka.connect.data.Decimal"
_EXACT = Context(prec=400)
_TIMES = ("org.apache.kafka.connect.data.Time", "io.debezium.time.Time")
_MILLIS = ("org.apache.kafka.connect.data.Timestamp", "io.debezium.time.Timestamp")


def scalar(node: Mapping[str, Any], want: str) -> Convert:
    """What turns a value into one of a plain type.

    Raises:
        NotComparedError: The value is written in a way that is not known here.
    """
    word = want.partition("(")[0]
    if word == "decimal":
        return _decimal(node, want)
    if word in ("timestamp", "timestamptz"):
        return _moment(node)
    if word == "long" and node.get("title") in _TIMES:
        return lambda value: _scaled(value, 1000)
    if word == "string":
        return _as_text(node)
    return _PLAIN[word]


def _as_text(node: Mapping[str, Any]) -> Convert:
    """A text as it is, or a whole number as text."""
    types = kinds(node) - {"null"}
    if types == {"integer"}:
        return lambda value: str(_integer(value, 63))
    if types != {"string"}:
        raise NotComparedError("a text that is made of something else")
    return _text


def _moment(node: Mapping[str, Any]) -> Convert:
    if node.get("title") in _MILLIS or _note(node, "flink.type") == "timestamp":
        return lambda value: _scaled(value, 1000)
    if node.get("title") == "io.debezium.time.MicroTimestamp":
        return lambda value: _integer(value, 63)
    raise NotComparedError("a moment that is written in a way of its own")


def _note(node: Mapping[str, Any], name: str) -> Any:
    """A note of Connect's or Flink's, wherever the schema has it."""
    return node.get("connect.parameters", {}).get(name, node.get(name))


def _scaled(value: Any, factor: int) -> int:
    return _integer(_integer(value, 63) * factor, 63)


def kinds(node: Mapping[str, Any]) -> set[str]:
    """The types of JSON that values may have; `any` where nothing says."""
    if types := node.get("type"):
        return {types} if isinstance(types, str) else {*types}
    values = node.get("enum", [node["const"]] if "const" in node else ())
    return {_KINDS.get(type(value), "any") for value in values} or {"any"}


def _decimal(node: Mapping[str, Any], want: str) -> Convert:
    if node.get("title") != _DECIMAL:
        raise NotComparedError("a decimal that Connect did not write")
    wanted = int(want.rstrip(")").split(",")[1])
    scale = int(_note(node, "scale") or 0)
    factor = 10 ** (wanted - scale)
    if {"integer", "number"} & kinds(node):
        limit = 10 ** int(want.partition("(")[2].split(",")[0])
        return lambda value: _unscaled(value, wanted, limit)
    return lambda value: int.from_bytes(_bytes(value), "big", signed=True) * factor


def _unscaled(value: Any, scale: int, limit: int) -> int:
    """The digits of a decimal that Connect wrote as a number: `json.decimal.format` NUMERIC."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        bad("no number")
    number = Decimal(value)
    digits = number.scaleb(scale, _EXACT)
    if digits != digits.to_integral_value(context=_EXACT) or abs(digits) >= limit:
        bad("a decimal with other digits than the column's")
    return int(digits)


def _integer(value: Any, bits: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        bad("no integer")
    if not -(2**bits) <= value < 2**bits:
        bad("an integer out of range")
    return int(value)


def _real(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        bad("no number")
    return _finite(float(value))


def _single(value: Any) -> float:
    return _finite(struct.unpack("f", struct.pack("f", _real(value)))[0])


def _finite(number: float) -> float:
    if math.isinf(number):
        bad("a number out of range")
    return number


def _text(value: Any) -> str:
    if not isinstance(value, str):
        bad("no text")
    try:
        value.encode()
    except UnicodeEncodeError:
        bad("half a surrogate pair")
    return str(value)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        bad("no boolean")
    return bool(value)


def _bytes(value: Any) -> bytes:
    try:
        raw = base64.b64decode(_text(value), validate=True)
    except ValueError as e:
        raise BadRecordError("no base64") from e
    return raw if len(value) == (len(raw) + 2) // 3 * 4 else bad("more than base64")


_KINDS = {str: "string", type(None): "null"}
_PLAIN: Mapping[str, Convert] = {
    "boolean": _boolean,
    "int": lambda value: _integer(value, 31),
    "long": lambda value: _integer(value, 63),
    "float": _single,
    "double": _real,
    "binary": _bytes,
    "date": lambda value: _integer(value, 31),
}
