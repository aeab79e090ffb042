"""Where a row stands on a z-order curve: the bits of its columns, first the highest of each.

As Iceberg's `ZOrderByteUtils` has it: eight bytes of each column that sort as its values do; null is least.
Imports PyArrow only, for Spark's workers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from frazil.exact import flags_of, values_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]

_BYTES = 8
_SIGN = np.uint64(1 << 63)


def interleaved(rows: pa.StructArray) -> pa.BinaryArray:
    """The place of each row, as bytes that sort by it."""
    keys = [ordered_bytes(column) for column in rows.flatten()]
    bits = np.stack([np.unpackbits(key, axis=1) for key in keys], axis=2)
    packed = np.packbits(bits.reshape(len(rows), -1), axis=1)
    kind = pa.binary(_BYTES * len(keys))
    return pa.FixedSizeBinaryArray.from_buffers(kind, len(rows), [None, pa.py_buffer(packed)]).cast(
        pa.binary()
    )


def ordered_bytes(column: pa.Array) -> Bytes:
    """Eight bytes of each value, in the order of the values; zeros where there is none."""
    words = _of_texts(column) if _is_text(column.type) else _of_numbers(column)
    words[flags_of(column.is_null())] = 0
    return words


def _is_text(kind: pa.DataType) -> bool:
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(is_one(kind) for is_one in texts)


def _of_texts(column: pa.Array) -> Bytes:
    """What a text begins with."""
    texts = values_of(column.cast(pa.binary()))
    return np.array([text or b"" for text in texts], f"S{_BYTES}").view(np.uint8).reshape(-1, _BYTES)


def _of_numbers(column: pa.Array) -> Bytes:
    kind = column.type
    if pa.types.is_boolean(kind):
        numbers = flags_of(column).astype(np.uint64) << np.uint64(63)
    elif pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        floats = column.cast(pa.float64()).fill_null(0).to_numpy(zero_copy_only=False)
        plain = floats.view(np.uint64)
        numbers = np.where(plain & _SIGN, ~plain, plain | _SIGN)
    else:
        narrow = column.cast(pa.int32()) if pa.types.is_date32(kind) else column
        whole = narrow.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        numbers = whole.view(np.uint64) ^ _SIGN
    return numbers.astype(">u8").view(np.uint8).reshape(-1, _BYTES)
