"""Columns as one schema version has them, laid out as another one wants them: by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["projected"]


def projected(found: pa.Array, wanted: pa.DataType) -> pa.Array:
    """The same rows in another type: missing fields are null, unknown ones left out, numbers widened."""
    import pyarrow as pa

    if found.type == wanted:
        return found
    missing = found.is_null() if found.null_count else None
    if pa.types.is_struct(wanted):
        parts = dict(zip([f.name for f in found.type], found.flatten(), strict=True))
        fields = [_field(parts.get(f.name), f.type, len(found)) for f in wanted]
        return pa.StructArray.from_arrays(fields, fields=list(wanted), mask=missing)
    if pa.types.is_list(wanted):
        values = projected(found.values, wanted.value_type)
        return pa.ListArray.from_arrays(found.offsets, values, mask=missing)
    if pa.types.is_map(wanted):
        items = projected(found.items, wanted.item_type)
        return pa.MapArray.from_arrays(found.offsets, found.keys, items, mask=missing)
    return found.cast(wanted)


def _field(part: pa.Array | None, wanted: pa.DataType, rows: int) -> pa.Array:
    import pyarrow as pa

    return pa.nulls(rows, wanted) if part is None else projected(part, wanted)
