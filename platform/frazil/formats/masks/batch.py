"""Masks by columns, in Spark's workers: nothing behind them sees a value that has one."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from frazil.exact import values_of
from frazil.formats.masks.columns import mask_paths

if TYPE_CHECKING:
    import pyarrow as pa

STARS, LAST, SHORTEST = "****", 4, 8
"""What `last4` writes before the last characters, how many these are, and of which texts it shows them."""


@dataclass(frozen=True, slots=True)
class ArrowMasks:
    """The masks of one half of a record.

    Args:
        words: `hash`, `redact`, `last4` or `drop` by the path of a field.
        keys: The keys of hashes, by the path of a field.
    """

    words: Mapping[str, str]
    keys: Mapping[str, bytes] = field(repr=False)

    def of(self, rows: pa.StructArray) -> pa.StructArray:
        """The rows, masked."""
        return self._struct(rows, "") if self.words else rows

    def _struct(self, rows: pa.StructArray, at: str) -> pa.StructArray:
        import pyarrow as pa

        columns = {
            own.name: self._column(column, f"{at}{own.name}")
            for own, column in zip(rows.type, rows.flatten(), strict=True)
            if self.words.get(f"{at}{own.name}") != "drop"
        }
        if not columns:
            return pa.nulls(len(rows), pa.struct([]))
        fields = [pa.field(name, column.type) for name, column in columns.items()]
        return pa.StructArray.from_arrays(
            list(columns.values()), fields=fields, mask=rows.is_null() if rows.null_count else None
        )

    def _column(self, column: pa.Array, path: str) -> pa.Array:
        import pyarrow as pa

        match self.words.get(path):
            case "hash":
                return _hashed(column, self.keys[path])
            case "last4":
                return _last(column)
            case "redact":
                return pa.nulls(len(column), column.type)
        return self._within(column, path) if mask_paths(self.words, path) else column

    def _within(self, column: Any, path: str) -> pa.Array:
        import pyarrow as pa

        if pa.types.is_struct(column.type):
            return self._struct(column, f"{path}.")
        whole = pa.concat_arrays([column, column.slice(0, 0)]) if column.offset else column
        nulls = whole.is_null() if whole.null_count else None
        if pa.types.is_map(column.type):
            items = self._column(whole.items, f"{path}.value")
            return pa.MapArray.from_arrays(whole.offsets, whole.keys, items, mask=nulls)
        values = self._column(whole.values, f"{path}.element")
        return pa.ListArray.from_arrays(whole.offsets, values, mask=nulls)


def _hashed(values: pa.Array, key: bytes) -> pa.Array:
    """Each value that differs is hashed once."""
    import pyarrow as pa

    is_bytes = pa.types.is_binary(values.type)
    encoded = (values if is_bytes else values.cast(pa.string()).cast(pa.binary())).dictionary_encode()
    hashed = [hmac.digest(key, each, "sha256").hex() for each in values_of(encoded.dictionary)]
    return pa.array(hashed, pa.string()).take(encoded.indices)


def _last(values: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = values.cast(pa.string())
    shown = pc.binary_join_element_wise(STARS, pc.utf8_slice_codeunits(texts, -LAST), "")
    long = pc.greater_equal(pc.utf8_length(texts), SHORTEST)
    return pc.if_else(long, shown, STARS)
