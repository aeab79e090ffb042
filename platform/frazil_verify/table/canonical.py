"""Arrow arrays as canonical values; see `frazil_verify.values`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal
from operator import itemgetter
from typing import Any

import pyarrow as pa

from frazil_verify.findings import UnverifiableError
from frazil_verify.table.metadata import Column, columns_of

_EXACT = Context(prec=100)
_FEW, _FIRST = 2, itemgetter(0)

Values = Sequence[Any]


def values_of(array: pa.Array, kind: Any) -> Values:
    """The values of a column of an Iceberg type, as the metadata writes that type."""
    return nested(array, kind) if isinstance(kind, Mapping) else plain(array, kind)


def lacking(column: Column, count: int) -> Values:
    """The values of a column that a file does not have.

    Raises:
        UnverifiableError: They are not null: the table has a default of its own.
    """
    if column.default is not None:
        raise UnverifiableError(f"column {column.name} has a default for rows of older files")
    return [None] * count


def plain(array: pa.Array, kind: str) -> Values:
    """Values of a type without parts.

    Raises:
        UnverifiableError: The type is not one that is verified.
    """
    word = kind.partition("(")[0]
    if word not in _PLAIN:
        raise UnverifiableError(f"a column of type {kind}")
    return _PLAIN[word](array)


def nested(array: pa.Array, kind: Mapping[str, Any]) -> Values:
    """Values of a struct, a list or a map."""
    return {"struct": _structs, "list": _lists, "map": _maps}[kind["type"]](array, kind)


def number(value: float | None) -> float | None:
    """One spelling of all that is no number: they have many bit patterns."""
    return math.nan if value is not None and value != value else value


def sorted_pairs(pairs: Mapping[Any, Any]) -> tuple[tuple[Any, Any], ...]:
    """A map in an order of its own."""
    if len(pairs) < _FEW:
        return tuple(pairs.items())
    if isinstance(next(iter(pairs)), str):
        return tuple(sorted(pairs.items(), key=_FIRST))
    return tuple(sorted(pairs.items(), key=lambda pair: repr(pair[0])))


def _structs(array: pa.StructArray, kind: Mapping[str, Any]) -> Values:
    children = dict(zip((field_id(f) for f in array.type), array.flatten(), strict=True))
    parts = [
        values_of(children[c.id], c.type) if c.id in children else lacking(c, len(array))
        for c in columns_of(kind)
    ]
    valid = array.is_valid().to_pylist()
    return [row if there else None for there, row in zip(valid, zip(*parts, strict=True), strict=True)]


def _lists(array: pa.ListArray, kind: Mapping[str, Any]) -> Values:
    return _cut(array, values_of(array.values, kind["element"]), tuple)


def _maps(array: pa.MapArray, kind: Mapping[str, Any]) -> Values:
    keys, items = values_of(array.keys, kind["key"]), values_of(array.items, kind["value"])
    return _cut(array, list(zip(keys, items, strict=True)), lambda pairs: sorted_pairs(dict(pairs)))


def _cut(array: pa.ListArray, values: Values, made: Callable[[Values], Any]) -> Values:
    offsets, valid = array.offsets.to_pylist(), array.is_valid().to_pylist()
    return [made(values[offsets[i] : offsets[i + 1]]) if there else None for i, there in enumerate(valid)]


def field_id(field: pa.Field) -> int:
    """The id that Iceberg's writers put into a Parquet file; -1 where there is none."""
    return int((field.metadata or {}).get(b"PARQUET:field_id", -1))


def _moments(array: pa.Array) -> Values:
    return _as_it_is(array.cast(pa.timestamp("us", array.type.tz)).cast(pa.int64()))


def _unscaled(array: pa.Decimal128Array) -> Values:
    scale = array.type.scale
    return [None if v is None else int(Decimal.scaleb(v, scale, _EXACT)) for v in array.to_pylist()]


def _as_it_is(array: pa.Array) -> Values:
    values: list[Any] = array.to_pylist()
    return values


def _numbers(array: pa.Array) -> Values:
    return [number(value) for value in array.to_pylist()]


_PLAIN: dict[str, Callable[[pa.Array], Values]] = {
    **dict.fromkeys(("boolean", "int", "long", "string", "binary", "fixed"), _as_it_is),
    **dict.fromkeys(("float", "double"), _numbers),
    **dict.fromkeys(("timestamp", "timestamptz"), _moments),
    "date": lambda array: array.cast(pa.int32()).to_pylist(),
    "decimal": _unscaled,
}
