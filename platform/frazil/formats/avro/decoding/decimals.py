"""Decimals from Avro's bytes, the highest first, to Arrow's 16 bytes, the lowest first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from frazil.exact import values_of
from frazil.formats.avro.schemas.exact import digits_read
from frazil.formats.batches.rows import Rows
from frazil.formats.logical import MAX_DIGITS, Decimal
from frazil.formats.types import arrow_type

_SIZE = 16


def decimals(reader: dict[str, Any], wanted: Decimal, array: pa.BinaryArray, rows: Rows) -> pa.Array:
    """The column's numbers; a record is bad where one has no bytes, or does not fit the column exactly."""
    scale = reader["scale"]
    low, high, fits = _halves(array)
    digits = min(digits_read(reader), wanted.precision - wanted.scale + scale)
    fits &= _within(low, high, digits) if digits > 0 else (low == 0) & (high == 0)
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    rows.spoil(valid & ~fits)
    kept = fits & valid
    words = np.column_stack([np.where(kept, low, 0), np.where(kept, high, 0).view(np.uint64)])
    unscaled = pa.Array.from_buffers(
        pa.decimal128(MAX_DIGITS, scale), len(array), [None, pa.py_buffer(np.ascontiguousarray(words))]
    )
    return (
        _rescaled(unscaled, wanted, rows)
        if array.null_count == 0
        else _masked(_rescaled(unscaled, wanted, rows), valid)
    )


def _masked(array: pa.Array, valid: np.ndarray) -> pa.Array:
    return array.take(pa.array(np.arange(len(array)), mask=~valid))


def _rescaled(array: pa.Array, wanted: Decimal, rows: Rows) -> pa.Array:
    kind = arrow_type(wanted)
    try:
        return array.cast(kind)
    except pa.ArrowInvalid:
        numbers = values_of(array)
    fits = [number is None or wanted.holds(number) for number in numbers]
    rows.spoil(~np.array(fits))
    return pa.array([n if fit else None for n, fit in zip(numbers, fits, strict=True)], kind)


def _halves(array: pa.BinaryArray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The lower and the upper 64 bits of each number, and whether it has any and no more."""
    offsets = np.frombuffer(array.buffers()[1], np.int32, len(array) + 1, 4 * array.offset)
    ends, sizes = offsets[1:].astype(np.int64), np.diff(offsets)
    data = np.frombuffer(array.buffers()[2] or b"", np.uint8)
    padded = np.zeros((len(array), _SIZE), np.uint8)
    some = np.flatnonzero(sizes)
    negative = some[data[offsets[some]] > 127]
    padded[negative] = 255
    for place in range(min(_SIZE, int(sizes.max(initial=0)))):
        longer = np.flatnonzero(sizes > place)
        padded[longer, place] = data[ends[longer] - 1 - place]
    words = padded.view(np.uint64)
    fits = sizes > 0
    for long in np.flatnonzero(sizes > _SIZE):
        number = int.from_bytes(data[offsets[long] : ends[long]].tobytes(), signed=True)
        fits[long] = -(2**127) <= number < 2**127
    return words[:, 0], words[:, 1].view(np.int64), fits


def _within(low: np.ndarray, high: np.ndarray, digits: int) -> np.ndarray:
    """Whether each number has at most `digits` digits."""
    most = 10**digits - 1
    fits: np.ndarray = _at_most(low, high, most) & ~_at_most(low, high, -most - 1)
    return fits


def _at_most(low: np.ndarray, high: np.ndarray, bound: int) -> np.ndarray:
    upper, lower = bound >> 64, np.uint64(bound & (2**64 - 1))
    below: np.ndarray = (high < upper) | ((high == upper) & (low <= lower))
    return below
