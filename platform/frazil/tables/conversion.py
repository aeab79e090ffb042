"""Arrow values in the types of a table. Imports PyArrow only, for Spark's workers."""

from __future__ import annotations

import pyarrow as pa

from frazil.exact import value_of


def fitted(values: pa.Array, want: pa.DataType) -> pa.Array:
    """The same values in a type as wide or wider: fields by name at every depth, null where there is none.

    Raises ValueError for a null where the type has none.
    """
    if values.type == want:
        return values
    if pa.types.is_struct(want):
        return _struct(values, want)
    if pa.types.is_list(want):
        if not pa.types.is_list(values.type):  # its offsets have another width
            values = values.cast(pa.list_(values.type.value_field))
        item = fitted(values.values, want.value_type)
        return _nested(values, want, item if want.value_field.nullable else _required(item, want.value_field))
    if pa.types.is_map(want):
        entries = pa.StructArray.from_arrays([values.values.field(i) for i in (0, 1)], names=["key", "value"])
        return _nested(values, want, fitted(entries, pa.struct([want.key_field, want.item_field])))
    return values.cast(want)


def _struct(values: pa.StructArray, want: pa.StructType) -> pa.StructArray:
    gone, columns = values.is_null(), []
    for own in want:
        place = values.type.get_field_index(own.name)
        column = pa.nulls(len(values), own.type) if place < 0 else fitted(values.field(place), own.type)
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
