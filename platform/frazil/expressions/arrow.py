"""Expressions computed by columns, as SQL has them: of null comes null. Imports PyArrow only, for workers.

Whole numbers and decimals are exact: a sum, a difference or a product has all its digits. A quotient is a
double, and null where it is divided by zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from frazil.expressions.tree import Call, Column, Constant, Node, Now

Value = Any
"""An array of Arrow's with a value for each row, or a scalar of it for all."""

_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}
_NARROW = 38
_MOMENT = pa.timestamp("us", "UTC")


@dataclass(frozen=True, slots=True)
class Rows:
    """What an expression is computed of.

    Args:
        columns: By their names.
        count: How many rows they have.
        now: Microseconds since 1970.
    """

    columns: Mapping[str, pa.Array]
    count: int
    now: int

    def of(self, node: Node) -> Value:
        """The values of a part of an expression.

        Raises:
            pa.ArrowInvalid, pa.ArrowNotImplementedError: It has none for values of these types.
        """
        match node:
            case Column():
                return _field(self.columns[node.path[0]], node.path[1:])
            case Now():
                return pa.scalar(self.now, _MOMENT)
            case Constant():
                return _constant(node)
        return _CALLS[node.name](*self._arguments(node))

    def flags(self, node: Node) -> pa.BooleanArray:
        """Of which rows it is true, false or null; raises as `of` does, and where it is none of these."""
        value = self.of(node)
        if pa.types.is_null(value.type):
            value = pa.nulls(self.count, pa.bool_())
        if not pa.types.is_boolean(value.type):
            raise pa.ArrowInvalid(f"it is {value.type}, not true or false")
        return pa.repeat(value, self.count) if isinstance(value, pa.Scalar) else value

    def array(self, node: Node) -> pa.Array:
        """The values of a part of an expression, one for each row."""
        value = self.of(node)
        return pa.repeat(value, self.count) if isinstance(value, pa.Scalar) else value

    def _arguments(self, call: Call) -> Iterator[Value]:
        """What a call is given; a text beside values of another type is one of these."""
        values = [self.of(part) for part in call.of]
        kinds = (v.type for v, part in zip(values, call.of, strict=True) if not _is_text(part))
        alike = next((kind for kind in islice(kinds, call.name == "if", None) if _is_kind(kind)), None)
        for part, value in zip(call.of, values, strict=True):
            yield value if alike is None or not isinstance(part, Constant) else _as(part, value, alike)


def _is_text(node: Node) -> bool:
    return isinstance(node, Constant) and node.kind == "text"


def _is_kind(kind: pa.DataType) -> bool:
    return not pa.types.is_null(kind) and not pa.types.is_string(kind)


def _as(constant: Constant, value: Value, kind: pa.DataType) -> Value:
    return _read(constant.text, kind) if _is_text(constant) else value


def _field(column: pa.Array, path: tuple[str, ...]) -> pa.Array:
    for name in path:
        column = pc.struct_field(column, name)
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    return column


def _constant(of: Constant) -> pa.Scalar:
    match of.kind:
        case "text":
            return pa.scalar(of.text)
        case "boolean":
            return pa.scalar(of.text == "true")
        case "whole":
            number = int(of.text)
            return pa.scalar(number) if number < 2**63 else pa.scalar(Decimal(of.text))
        case "decimal":
            return pa.scalar(Decimal(of.text))
        case "double":
            return pa.scalar(float(of.text))
        case "date":
            return pa.scalar(of.text).cast(pa.date32())
        case "timestamp":
            return _read(of.text, _MOMENT)
        case "interval":
            return pa.scalar(int(of.text), pa.duration("us"))
    return pa.scalar(None, pa.null())


def _read(text: str, kind: pa.DataType) -> pa.Scalar:
    """A text that stands beside values of another type: a time of no zone is UTC's."""
    if not pa.types.is_timestamp(kind):
        return pa.scalar(text).cast(kind)
    try:
        moment = pa.scalar(text).cast(pa.timestamp("us", "UTC"))
    except pa.ArrowInvalid:
        moment = pa.scalar(text).cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    return moment if kind.tz else moment.cast(pa.timestamp("us"))


def _is_exact(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_decimal(kind))


def _decimal(value: Value) -> Value:
    kind = value.type
    return value.cast(pa.decimal128(_DIGITS[kind.bit_width], 0)) if pa.types.is_integer(kind) else value


def _wide(value: Value) -> Value:
    return value.cast(pa.decimal256(value.type.precision, value.type.scale))


def _beside(one: Value, two: Value) -> tuple[Value, Value]:
    """Two values that Arrow can compare, whatever their digits and zones."""
    kinds = one.type, two.type
    if all(map(_is_exact, kinds)) and any(map(pa.types.is_decimal, kinds)):
        one, two = _decimal(one), _decimal(two)
        whole = max(v.type.precision - v.type.scale for v in (one, two))
        if whole + max(one.type.scale, two.type.scale) > _NARROW:
            one, two = _wide(one), _wide(two)
    if any(map(pa.types.is_timestamp, kinds)):
        zone = next(k.tz for k in kinds if pa.types.is_timestamp(k))
        one, two = (_in_zone(v, zone) for v in (one, two))
    return one, two


def _in_zone(value: Value, zone: str | None) -> Value:
    if pa.types.is_date(value.type):
        value = value.cast(pa.timestamp("us"))
    return value.cast(pa.timestamp(value.type.unit, zone)) if pa.types.is_timestamp(value.type) else value


def _compared(function: str) -> Callable[[Value, Value], Value]:
    return lambda one, two: getattr(pc, function)(*_beside(one, two))


def _moved(function: str) -> Callable[[Value, Value], Value]:
    """Plus and minus, of numbers and of times."""

    def of(one: Value, two: Value) -> Value:
        if _is_exact(one.type) and _is_exact(two.type):
            one, two = _decimal(one), _decimal(two)
            whole = max(v.type.precision - v.type.scale for v in (one, two))
            if whole + max(one.type.scale, two.type.scale) + 1 > _NARROW:
                one, two = _wide(one), _wide(two)
        elif pa.types.is_timestamp(one.type) or pa.types.is_timestamp(two.type):
            one, two = _beside(one, two)
        elif pa.types.is_date(one.type):
            one = one.cast(pa.timestamp("us"))
        return getattr(pc, function)(one, two)

    return of


def _product(one: Value, two: Value) -> Value:
    if _is_exact(one.type) and _is_exact(two.type):
        one, two = _decimal(one), _decimal(two)
        if one.type.precision + two.type.precision + 1 > _NARROW:
            one, two = _wide(one), _wide(two)
    return pc.multiply(one, two)


def _quotient(one: Value, two: Value) -> Value:
    one, two = (value.cast(pa.float64(), safe=False) for value in (one, two))
    return pc.divide(one, pc.if_else(pc.equal(two, 0.0), pa.scalar(None, pa.float64()), two))


def _negative(value: Value) -> Value:
    return pc.negate(_decimal(value) if _is_exact(value.type) else value)


def _absolute(value: Value) -> Value:
    return pc.abs(_decimal(value) if _is_exact(value.type) else value)


def _either(condition: Value, one: Value, two: Value) -> Value:
    if _is_exact(one.type) and _is_exact(two.type) and one.type != two.type:
        one, two = _decimal(one), _decimal(two)
        scale = max(one.type.scale, two.type.scale)
        digits = max(v.type.precision - v.type.scale for v in (one, two)) + scale
        kind = pa.decimal128(digits, scale) if digits <= _NARROW else pa.decimal256(digits, scale)
        one, two = one.cast(kind), two.cast(kind)
    return pc.if_else(condition, *_beside(one, two))


def _if(condition: Value, one: Value, two: Value) -> Value:
    return _either(pc.fill_null(_truth(condition), False), one, two)


def _coalesced(*values: Value) -> Value:
    coalesced = values[-1]
    for value in reversed(values[:-1]):
        coalesced = _either(pc.is_valid(value), value, coalesced)
    return coalesced


def _truth(value: Value) -> Value:
    return value.cast(pa.bool_()) if pa.types.is_null(value.type) else value


def _logic(function: str) -> Callable[..., Value]:
    return lambda *values: getattr(pc, function)(*map(_truth, values))


def _matches(function: str, *, ignore_case: bool = False) -> Callable[[Value, Value], Value]:
    def of(value: Value, pattern: Value) -> Value:
        if not isinstance(pattern, pa.Scalar) or not pattern.is_valid:
            raise pa.ArrowInvalid("the pattern must stand there, as a text")
        return getattr(pc, function)(value, str(pattern), ignore_case=ignore_case)

    return of


def _length(value: Value) -> Value:
    return pc.binary_length(value) if pa.types.is_binary(value.type) else pc.utf8_length(value)


def _size(value: Value) -> Value:
    if pa.types.is_map(value.type) and isinstance(value, pa.Array):
        value = value.cast(pa.list_(pa.struct([value.type.key_field, value.type.item_field])))
    return pc.list_value_length(value)


_CALLS: Mapping[str, Callable[..., Value]] = {
    "=": _compared("equal"), "<>": _compared("not_equal"), "<": _compared("less"),
    "<=": _compared("less_equal"), ">": _compared("greater"), ">=": _compared("greater_equal"),
    "and": _logic("and_kleene"), "or": _logic("or_kleene"), "not": _logic("invert"),
    "is null": pc.is_null, "coalesce": _coalesced, "if": _if,
    "+": _moved("add"), "-": _moved("subtract"), "*": _product, "/": _quotient,
    "negative": _negative, "abs": _absolute,
    "like": _matches("match_like"), "ilike": _matches("match_like", ignore_case=True),
    "rlike": _matches("match_substring_regex"),
    "starts with": _matches("starts_with"), "ends with": _matches("ends_with"),
    "contains": _matches("match_substring"),
    "length": _length, "lower": pc.utf8_lower, "upper": pc.utf8_upper, "trim": pc.utf8_trim_whitespace,
    "size": _size, "isnan": pc.is_nan,
}  # fmt: skip
"""All that an expression can call."""
