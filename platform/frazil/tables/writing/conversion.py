"""Arrow values in the types of a table. Imports PyArrow only, for Spark's workers.

A field that is not found is an error and never null: files spell names otherwise than tables, `a.b` is
`a_x2Eb` in them, and a value whose column was looked for by the other name would be lost without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from uuid import UUID

import pyarrow as pa

from frazil.exact import value_of, values_of

NAME = b"frazil.name"
"""In the metadata of a file's field: the name that the table has for it."""

ID = b"PARQUET:field_id"


class UnmatchedError(ValueError):
    """A field of values has no place in a table, or a required field of the table has no values."""


def table_name(own: pa.Field) -> str:
    """What the table calls a field of its files."""
    name: bytes = (own.metadata or {}).get(NAME, own.name.encode())
    return name.decode()


def field_id(own: pa.Field) -> str:
    """The id that a field has in a file; empty where it has none."""
    name: bytes = (own.metadata or {}).get(ID, b"")
    return name.decode()


@dataclass(frozen=True, slots=True)
class Matching:
    """How fields of values and of a table are told to be the same, at every depth.

    Args:
        source: What a field of the values is known by.
        target: What a field of the table's files is known by.
        leaves_out: Whether values may have fields that the table does not have any more.
        constants: Values of fields of the table that have none of their own, by what these are known by.
    """

    source: Callable[[pa.Field], str]
    target: Callable[[pa.Field], str]
    leaves_out: bool = False
    constants: Mapping[str, pa.Scalar] = field(default_factory=dict)

    def places(self, source: Iterable[pa.Field], target: Iterable[pa.Field]) -> list[int]:
        """For each field of a table the place of its values; -1 where it has a constant, or may have none.

        Raises:
            UnmatchedError: Any other is left over.
        """
        known: dict[str, int] = {}
        for place, own in enumerate(source):
            if (key := self.source(own)) in known or not key:
                raise UnmatchedError(f"field {own.name} of the values has no name or id of its own")
            known[key] = place
        pairs = [(own, known.pop(self.target(own), -1)) for own in target]
        if known and not self.leaves_out:
            raise UnmatchedError(f"the table has no column for {', '.join(sorted(known))}")
        for own, place in pairs:
            if place < 0 and not own.nullable and self.target(own) not in self.constants:
                raise UnmatchedError(f"there are no values for {table_name(own)}, which is a required column")
        return [place for _, place in pairs]

    def absent(self, own: pa.Field, rows: int) -> pa.Array:
        """What a field of the table holds whose values are nowhere."""
        constant = self.constants.get(self.target(own))
        return pa.nulls(rows, own.type) if constant is None else fitted(pa.repeat(constant, rows), own.type)


DECODED = Matching(lambda own: own.name, table_name)
"""Values that were decoded: by the table's own names."""

IN_FILES = Matching(field_id, field_id, leaves_out=True)
"""Values of other files of the table, which may hold columns that were dropped."""


def rows_fitted(
    columns: Mapping[str, pa.Array], schema: pa.Schema, rows: int, how: Matching = DECODED
) -> pa.RecordBatch:
    """Rows of a table, of columns by what `how` knows those of the table by.

    Raises:
        UnmatchedError: A column has no place, or a required one no values.
        ValueError: A value is null where the type has none.
    """
    fields = [pa.field(name, array.type) for name, array in columns.items()]
    arrays = list(columns.values())
    by_key = replace(how, source=lambda own: own.name)
    ordered = [
        how.absent(own, rows) if place < 0 else fitted(arrays[place], own.type, how)
        for own, place in zip(schema, by_key.places(fields, schema), strict=True)
    ]
    return pa.RecordBatch.from_arrays(ordered, schema=schema)


def fitted(values: pa.Array, want: pa.DataType, how: Matching = DECODED) -> pa.Array:
    """The same values in a type as wide or wider, field by field at every depth.

    Raises as `rows_fitted` does.
    """
    if values.type == want and not pa.types.is_nested(want):
        return values
    if want == pa.uuid() and pa.types.is_string(values.type):
        return _uuids(values)
    if want == pa.string() and values.type in (pa.uuid(), pa.binary(16)):
        return _texts_of_uuids(values)
    if pa.types.is_struct(want):
        return _struct(values, want, how)
    if pa.types.is_list(want):
        if not pa.types.is_list(values.type):  # its offsets have another width
            values = values.cast(pa.list_(values.type.value_field))
        item = fitted(values.values, want.value_type, how)
        return _nested(values, want, item if want.value_field.nullable else _required(item, want.value_field))
    if pa.types.is_map(want):
        own = [want.key_field, want.item_field]
        parts = [fitted(values.values.field(place), field.type, how) for place, field in enumerate(own)]
        checked = [p if f.nullable else _required(p, f) for p, f in zip(parts, own, strict=True)]
        return _nested(values, want, pa.StructArray.from_arrays(checked, fields=own))
    return values.cast(want)


def _uuids(texts: pa.StringArray) -> pa.Array:
    """Spark has them as texts."""
    bytes_ = [None if text is None else UUID(text).bytes for text in values_of(texts)]
    return pa.array(bytes_, pa.binary(16)).cast(pa.uuid())


def _texts_of_uuids(values: pa.Array) -> pa.StringArray:
    stored = values.storage if values.type == pa.uuid() else values
    return pa.array(
        [None if each is None else str(UUID(bytes=each)) for each in values_of(stored)], pa.string()
    )


def _struct(values: pa.StructArray, want: pa.StructType, how: Matching) -> pa.StructArray:
    gone, columns = values.is_null(), []
    for own, place in zip(want, how.places(values.type, want), strict=True):
        absent = place < 0
        column = how.absent(own, len(values)) if absent else fitted(values.field(place), own.type, how)
        columns.append(column if own.nullable else _required(column, own, gone))
    return pa.StructArray.from_arrays(columns, fields=list(want), mask=gone)


def _required(values: pa.Array, own: pa.Field, gone: pa.BooleanArray | None = None) -> pa.Array:
    """Values that have no nulls but where a row is gone: there Parquet wants any value."""
    import pyarrow.compute as pc

    if not values.null_count:
        return values
    if gone is None or value_of(pc.any(pc.and_not(values.is_null(), gone))):
        raise ValueError(f"a value of {own.name} is null, which is a required column")
    if pa.types.is_struct(values.type):
        children = [values.field(i) for i in range(values.type.num_fields)]
        return pa.StructArray.from_arrays(children, fields=list(values.type))
    if pa.types.is_nested(values.type):
        return _nested(values, values.type, values.values, [None, values.buffers()[1]])
    return pa.Array.from_buffers(
        values.type, len(values), [None, *values.buffers()[1:]], offset=values.offset
    )


def _nested(
    values: pa.Array, want: pa.DataType, item: pa.Array, own: list[pa.Buffer] | None = None
) -> pa.Array:
    buffers = own or values.buffers()[:2]
    return pa.Array.from_buffers(want, len(values), buffers, offset=values.offset, children=[item])
