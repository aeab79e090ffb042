"""Arrow arrays as pyruhvro reads them, in `shapes`, to the columns of a table.

Written by one schema and read by another: by the trees of both, as `pairs` gives them, and the column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.formats.avro.decoding.rowwise import nothing_of
from frazil.formats.avro.decoding.scalars import scalar
from frazil.formats.avro.decoding.shapes import fields_with_bytes, is_optional
from frazil.formats.avro.limits import MOST_ITEMS
from frazil.formats.avro.schemas.pairs import real, takers, written
from frazil.formats.batches.entries import map_of
from frazil.formats.batches.rows import Rows
from frazil.formats.logical import List, Map, Struct, Type
from frazil.formats.types import arrow_type

Default = Callable[[dict[str, Any], Type], "pa.Array | None"]
"""One row of a field's default, as a column of a type has it; None where it is no value of that."""


@dataclass(frozen=True, slots=True)
class Projection:
    """From arrays that were written by one schema to those of columns."""

    default: Default

    def column(self, writer: Any, reader: Any, wanted: Type, array: pa.Array, rows: Rows) -> pa.Array:
        """The values of a column, null where null was written; what does not fit makes its record bad."""
        ones, others = real(writer), real(reader)
        branches = _branches(writer, array)
        if len(ones) == len(others) == 1:
            return self._value(ones[0], others[0], wanted, branches[0], rows)
        taken, chosen = takers(ones, others), _chosen(writer, array)
        kinds = [wanted] if len(others) == 1 else [f.type for f in wanted.fields]
        members = []
        for other, kind in zip(others, kinds, strict=True):
            numbers = [n for n, taker in enumerate(taken) if taker is other]
            values = [(n, self._value(ones[n], other, kind, branches[n], rows)) for n in numbers]
            members.append(_merged(values, chosen, arrow_type(kind)))
        return members[0] if len(others) == 1 else _struct(members, wanted, chosen < 0)

    def _value(
        self, writer: dict[str, Any], reader: dict[str, Any], wanted: Type, array: pa.Array, rows: Rows
    ) -> pa.Array:
        """As `column`, of two types that are no unions."""
        match wanted:
            case Struct() if writer["type"] == reader["type"] == "record":
                return self._record(writer, reader, wanted, array, rows)
            case List() if writer["type"] == reader["type"] == "array":
                below = _below(array, rows)
                values = self.column(writer["items"], reader["items"], wanted.element, array.values, below)
                kind = arrow_type(wanted)
                return pa.ListArray.from_arrays(array.offsets, values, kind, mask=_missing(array))
            case Map() if writer["type"] == reader["type"] in ("array", "map"):
                return self._map(writer, reader, wanted, array, rows)
            case Struct() | List() | Map():
                raise TypeError(f"{writer['type']} as {wanted}")
            case _:
                return scalar(writer, reader, wanted, array, rows)

    def _record(
        self,
        writer: dict[str, Any],
        reader: dict[str, Any],
        wanted: Struct,
        array: pa.StructArray,
        rows: Rows,
    ) -> pa.StructArray:
        places = {f["name"]: n for n, f in enumerate(fields_with_bytes(writer))}
        columns = []
        for (field, source), column in zip(written(reader, writer), wanted, strict=True):
            if source is None:
                columns.append(self._missing_field(field, column.type, array, rows))
            else:
                place = places.get(source["name"])
                part = nothing_of(source["type"], len(array)) if place is None else array.field(place)
                columns.append(self.column(source["type"], field["type"], column.type, part, rows))
        return _struct(columns, wanted, _are_null(array) if array.null_count else None)

    def _missing_field(
        self, field: dict[str, Any], wanted: Type, array: pa.StructArray, rows: Rows
    ) -> pa.Array:
        """What stands in records that lack a field; where its default is none, they are bad."""
        has_default = field["default"] is not None
        default = self.default(field, wanted) if has_default else None
        if default is None:
            rows.spoil(~_are_null(array) & has_default)
            return pa.nulls(len(array), arrow_type(wanted))
        return default.take(pa.array(np.zeros(len(array), np.int64)))

    def _map(
        self, writer: dict[str, Any], reader: dict[str, Any], wanted: Map, array: pa.ListArray, rows: Rows
    ) -> pa.MapArray:
        """A map, or an array of entries: without those that have no key, and of equal keys the last one."""
        below = _below(array, rows)
        places, ones, others = _entry(writer), _entry_types(writer), _entry_types(reader)
        parts = zip(places, ones, others, (wanted.key, wanted.value), strict=True)
        keys, values = (
            self.column(one, other, kind, array.values.field(n), below) for n, one, other, kind in parts
        )
        keys, lacking = _without_minus_zero(keys), _are_null(keys)
        below.spoil(lacking)
        kind, missing = arrow_type(wanted), _missing(array)
        return map_of(keys, values, array.offsets.to_numpy(), kind, missing, lacking)


def _branches(writer: Any, array: pa.Array) -> list[pa.Array]:
    """The values of each branch that is not null; where another one is chosen stands anything."""
    if not isinstance(writer, list) or is_optional(writer):
        return [array]
    return [array.field(n).field(0) for n, branch in enumerate(writer) if branch["type"] != "null"]


def _chosen(writer: Any, array: pa.Array) -> np.ndarray:
    """Which of these branches each row holds; -1 if it holds another one."""
    if not isinstance(writer, list) or is_optional(writer):
        return np.where(_are_null(array), -1, 0)
    has_value = np.array([branch["type"] != "null" for branch in writer])
    numbers = np.where(has_value, np.cumsum(has_value) - 1, -1)
    members: np.ndarray = numbers[array.type_codes.to_numpy()]
    return members


def _merged(values: Sequence[tuple[int, pa.Array]], chosen: np.ndarray, kind: pa.DataType) -> pa.Array:
    """Row by row the value of the branch that is in it; null where that is none of these."""
    if not values:
        return pa.nulls(len(chosen), kind)
    order = np.full(len(chosen), -1)
    for place, (number, _) in enumerate(values):
        own = np.flatnonzero(chosen == number)
        order[own] = place * len(chosen) + own
    return pa.concat_arrays([v for _, v in values]).take(pa.array(order, mask=order < 0))


def _struct(parts: list[pa.Array], wanted: Type, missing: np.ndarray | None) -> pa.StructArray:
    fields = list(arrow_type(wanted))
    mask = None if missing is None else pa.array(missing)
    return pa.StructArray.from_arrays(parts, fields=fields, mask=mask)


def _below(array: pa.ListArray, rows: Rows) -> Rows:
    """The rows of a list's elements; lists that are longer than Java's limit make theirs bad."""
    offsets = array.offsets.to_numpy()
    rows.spoil(np.diff(offsets) > MOST_ITEMS)
    return rows.within(offsets)


def _entry(node: dict[str, Any]) -> tuple[int, int]:
    """Where the key and the value of an entry stand."""
    if node["type"] == "map":
        return 0, 1
    names = [f["name"] for f in fields_with_bytes(node["items"])]
    return names.index("key"), names.index("value")


def _entry_types(node: dict[str, Any]) -> tuple[Any, Any]:
    if node["type"] == "map":
        return {"type": "string"}, node["values"]
    types = {f["name"]: f["type"] for f in node["items"]["fields"]}
    return types["key"], types["value"]


def _without_minus_zero(keys: pa.Array) -> pa.Array:
    """Keys of which equal numbers are the same bits, as in a map of Spark's."""
    if not pa.types.is_floating(keys.type):
        return keys
    return pc.if_else(pc.equal(keys, 0.0), pa.scalar(0.0, keys.type), keys)


def _missing(array: pa.Array) -> pa.BooleanArray | None:
    return array.is_null() if array.null_count else None


def _are_null(array: pa.Array) -> np.ndarray:
    nulls: np.ndarray = array.is_null().to_numpy(zero_copy_only=False)
    return nulls
