"""Columns of JSON's values without parts, and which records these make bad."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Context
from decimal import Decimal as Number
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.exact import flags_of
from frazil.formats.batches.local import days_or_bad, local_moments_or_bad
from frazil.formats.batches.rows import Rows
from frazil.formats.batches.zoned import moments_or_bad
from frazil.formats.columns.unmappable import Written, digits_text, json_text, number_text
from frazil.formats.json.nodes import Scalar
from frazil.formats.json.reasons import exact_number, from_base64
from frazil.formats.logical import Decimal, Fixed
from frazil.formats.types import arrow_type

_NUMBER = b"-0123456789"
_MOST_BYTES = 16
"""Of a decimal of 38 digits."""

_EXACT = Context(prec=1_000)
_PYTHONS: dict[str, tuple[type, ...]] = {
    "boolean": (bool,), "string": (str,), "integer": (int,), "float": (int, float), "double": (int, float),
}  # fmt: skip

_OF_ISO = {"zoned": moments_or_bad, "local": local_moments_or_bad, "day": days_or_bad}


def scalar_array(node: Scalar, values: list[Any], rows: Rows) -> pa.Array:
    """The column of the node's own type; a record is bad where a value can't be in it."""
    kind = arrow_type(node.type)
    match node.wire:
        case "float":
            array = pa.array(values, pa.float64()).cast(kind, safe=False)
            rows.spoil(flags_of(pc.is_inf(array)))
        case "boolean" | "string" | "integer" | "double":
            array = pa.array(values, kind)
        case "days":
            return pa.array(values, pa.int32()).cast(kind)
        case "time_millis":
            return pc.multiply(pa.array(values, pa.int64()), 1000)
        case "millis" | "local_millis":
            return pc.multiply(pa.array(values, pa.int64()), 1000).cast(kind)
        case "local_micros":
            return pa.array(values, pa.int64()).cast(kind)
        case "zoned" | "local" | "day":
            return _OF_ISO[node.wire](pa.array(values, pa.string()), rows)
        case _:
            return _each(values, _MAKERS[node.wire](node), kind, rows)
    if node.allowed is not None:
        rows.spoil(~flags_of(pc.is_in(array, _allowed(node, kind))) & flags_of(array.is_valid()))
    return array


def _allowed(node: Scalar, kind: pa.DataType) -> pa.Array:
    """The values of an enumeration that the column can hold at all."""
    fitting = [v for v in node.allowed or () if type(v) in _PYTHONS[node.wire]]
    low, high = node.bounds or (-(2**63), 2**63 - 1)
    if node.wire == "integer":
        fitting = [v for v in fitting if low <= int(v) <= high]
    return pa.array(fitting, kind)


def _each(values: list[Any], make: Callable[[Any], Any], kind: pa.DataType, rows: Rows) -> pa.Array:
    """What is made of each value; one of which nothing can be made makes its record bad."""
    made = [None if value is None else _or_none(make, value) for value in values]
    rows.spoil(np.array([v is not None and m is None for v, m in zip(values, made, strict=True)], bool))
    return pa.array(made, kind)


def _or_none(make: Callable[[Any], Any], value: Any) -> Any:
    try:
        return make(value)
    except (ValueError, ArithmeticError):
        return None


def _number(node: Scalar) -> Callable[[bytes], Number | None]:
    assert isinstance(node.type, Decimal)
    fitting = _fitting(node.type)
    return lambda text: fitting(exact_number(text.decode())) if text[0] in _NUMBER else None


def _of_bytes(node: Scalar) -> Callable[[str], Number | None]:
    """Connect's decimals: an unscaled number, the highest byte first."""
    kind = node.type
    assert isinstance(kind, Decimal)
    fitting = _fitting(kind)

    def number(text: str) -> Number | None:
        raw = from_base64(text)
        if raw is None or not 1 <= len(raw) <= _MOST_BYTES:
            return None
        return fitting(_EXACT.scaleb(Number(int.from_bytes(raw, "big", signed=True)), -kind.scale))

    return number


def _fitting(kind: Decimal) -> Callable[[Number], Number | None]:
    unit = Number(1).scaleb(-kind.scale)
    return lambda number: _EXACT.quantize(number, unit) if kind.holds(number) else None


def _binary(node: Scalar) -> Callable[[str], bytes | None]:
    length = node.type.length if isinstance(node.type, Fixed) else None

    def raw(text: str) -> bytes | None:
        content = from_base64(text)
        return None if content is None or length not in (None, len(content)) else content

    return raw


class _Repeated(ValueError):
    """A key stands twice in a value that becomes text."""


class _Object(list[tuple[str, Any]]):
    """An object's members, as they stand."""


def _text_of(text: bytes) -> str | None:
    """A value of JSON as text of its own: canonical; None where one of its keys stands twice."""
    try:
        return json_text(_whole(_loaded(text.decode())))
    except (ValueError, RecursionError):
        return None


def _loaded(text: str) -> Any:
    """What the text says, with each number as it is written and each member of an object."""
    return json.loads(
        text,
        parse_int=Written,
        parse_float=Written,
        parse_constant=_no_constant,
        object_pairs_hook=_Object,
    )


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _whole(value: Any) -> Any:
    """A value of which each key stands there once."""
    if isinstance(value, _Object):
        members = {name: _whole(each) for name, each in value}
        if len(members) < len(value):
            raise _Repeated
        return members
    return [_whole(each) for each in value] if isinstance(value, list) else value


def _digits(text: bytes) -> str | None:
    """The text of a number of any length."""
    return number_text(text.decode()) if text[0] in _NUMBER else None


def _digits_of_bytes(node: Scalar) -> Callable[[str], str | None]:
    def digits(text: str) -> str | None:
        raw = from_base64(text)
        return digits_text(raw, node.declared[1]) if raw else None

    return digits


_MAKERS: dict[str, Callable[[Scalar], Callable[[Any], Any]]] = {
    "number": _number,
    "base64": _binary,
    "base64_number": _of_bytes,
    "json": lambda _: _text_of,
    "digits": lambda _: _digits,
    "base64_digits": _digits_of_bytes,
}
"""What makes values of those that are looked at one by one."""
