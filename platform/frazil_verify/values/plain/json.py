"""Python's reader of JSON, and values that are no objects and no arrays as canonical ones: docs/types.md."""

from __future__ import annotations

import base64
import json
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from frazil_verify.values.bad import BadRecordError, NotComparedError, bad
from frazil_verify.values.plain.decimals import fitted, unscaled, written
from frazil_verify.values.plain.iso import zoned_moment

Convert = Callable[[Any], Any]
_DECIMAL = "org.apache.kafka.connect.data.Decimal"
_SMALL = {"int8": 7, "int16": 15}
_SCALE = 18
"""Digits behind the point where Connect notes none."""
_DAY = 86_400_000
_FARTHEST = 4000  # digits from the point
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
        return _time
    if word == "int" and (bits := _SMALL.get(node.get("connect.type", ""))):
        return _whole(bits)
    if word == "string":
        return _as_text(node)
    return _PLAIN[word]


def _as_text(node: Mapping[str, Any]) -> Convert:
    """A text as it is, or a whole number or a decimal of too many digits as text."""
    types = kinds(node) - {"null"}
    if types == {"string"} and (node.get("title"), node.get("connect.type")) == (_DECIMAL, "bytes"):
        scale = _scale(node)
        return lambda value: written(unscaled(_bytes(value)), scale)
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
    if node.get("title") == "io.debezium.time.ZonedTimestamp":
        return lambda value: zoned_moment(_text(value))
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
    if {"integer", "number"} & kinds(node):
        return lambda value: _exact(value, want)
    scale = _scale(node)
    return lambda value: fitted(unscaled(_bytes(value)), scale, want)


def _scale(node: Mapping[str, Any]) -> int:
    noted = _note(node, "scale")
    return _SCALE if noted is None else int(noted)


def _exact(value: Any, want: str) -> int:
    """A decimal that Connect wrote as a number: `json.decimal.format` NUMERIC."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        bad("no number")
    sign, digits, exponent = Decimal(value).as_tuple()
    power = int(exponent)
    if not value:
        return 0
    if abs(power) > _FARTHEST:
        bad("a decimal of more digits than any column")
    whole = int("".join(map(str, digits))) * (-1 if sign else 1)
    return fitted(whole * 10 ** max(power, 0), max(-power, 0), want)


def _time(value: Any) -> int:
    """A time of a day; 24:00 is one."""
    if not 0 <= _integer(value, 31) <= _DAY:
        bad("no time of a day")
    return int(value) * 1000


def _integer(value: Any, bits: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        bad("no integer")
    if not -(2**bits) <= value < 2**bits:
        bad("an integer out of range")
    return int(value)


def _whole(bits: int) -> Convert:
    """The same of so many bits, quickly where it is what it must be."""
    low, high = -(2**bits), 2**bits - 1
    return lambda value: value if type(value) is int and low <= value <= high else _integer(value, bits)


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
    if value.isascii():
        return str(value)
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
    "int": _whole(31),
    "long": _whole(63),
    "float": _single,
    "double": _real,
    "binary": _bytes,
    "date": _whole(31),
}


class Repeated(dict[str, Any]):
    """An object in which a key stands twice: no map, and otherwise its last value counts."""

    def __init__(self, pairs: Sequence[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    known = dict(pairs)
    return known if len(known) == len(pairs) else Repeated(pairs)


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=_no_constant, object_pairs_hook=_object)
"""Reads numbers exactly."""
