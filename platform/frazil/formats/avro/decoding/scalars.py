"""Arrow arrays of Avro's plain values, as pyruhvro reads them, to those of a table.

What a number counts is the reader's, and what does not fit its column spoils the record.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.exact import values_of
from frazil.formats.avro.decoding.decimals import decimals
from frazil.formats.avro.decoding.shapes import parts_of_fixed
from frazil.formats.avro.limits import MOST_BYTES
from frazil.formats.avro.schemas.exact import DAY
from frazil.formats.avro.schemas.pairs import is_lossy
from frazil.formats.batches.rows import Rows
from frazil.formats.batches.zoned import ZONED, moments_or_bad
from frazil.formats.logical import Decimal, Primitive, Type
from frazil.formats.types import arrow_type

_MILLIS = 2**63 // 1000
_BYTES = ("bytes", "string", "fixed")
_WIDER = {("int", "long"), ("int", "double"), ("float", "double")}


def scalar(
    writer: dict[str, Any], reader: dict[str, Any], wanted: Type, array: pa.Array, rows: Rows
) -> pa.Array:
    """The column's values; what does not fit becomes null or empty, and its record bad."""
    if reader["type"] == "enum":
        return _symbols(writer["symbols"], reader, array, rows)
    if writer["type"] in _BYTES:
        return _from_bytes(reader, wanted, _bytes(writer, array, rows), rows)
    if not isinstance(wanted, Primitive):
        raise TypeError(f"{writer['type']} as {wanted}")
    return _number(writer["type"], reader.get("logicalType", ""), wanted.kind, array, rows)


def _symbols(written: list[str], reader: dict[str, Any], array: pa.Array, rows: Rows) -> pa.Array:
    """An enum's symbols; those that the reader does not know are its default, where it has one."""
    known, default = set(reader["symbols"]), reader.get("default")
    symbols = [s if default is None or s in known else default for s in written]
    codes, missing = _filled(array)
    unknown = (codes < 0) | (codes >= len(symbols))
    rows.spoil(unknown)
    return pa.array(symbols, pa.string()).take(pa.array(codes, mask=unknown | missing))


def _bytes(writer: dict[str, Any], array: pa.Array, rows: Rows) -> pa.BinaryArray:
    if pa.types.is_struct(array.type):
        return _fixed(writer["size"], array)
    binary = array.cast(pa.binary())
    if binary.nbytes > MOST_BYTES:
        rows.spoil(_filled(pc.binary_length(binary))[0] > MOST_BYTES)
    return binary


def _fixed(size: int, array: pa.StructArray) -> pa.BinaryArray:
    """The bytes of the numbers that they were read as."""
    count = len(array)
    parts = [_filled(array.field(n))[0] for n in range(len(parts_of_fixed(size)))]
    split = [part.view(np.uint8).reshape(count, part.itemsize) for part in parts]
    data = np.hstack([np.zeros((count, 0), np.uint8), *split])
    offsets = np.arange(count + 1, dtype=np.int32) * size
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(data))]
    fixed = pa.Array.from_buffers(pa.binary(), count, buffers)
    return pc.if_else(array.is_valid(), fixed, None)


def _from_bytes(reader: dict[str, Any], wanted: Type, array: pa.BinaryArray, rows: Rows) -> pa.Array:
    if isinstance(wanted, Decimal) and reader.get("logicalType") == "decimal":
        return decimals(reader, wanted, array, rows)
    match arrow_type(wanted):
        case kind if kind == pa.binary():
            return array
        case kind if kind == pa.string():
            return _texts(array, rows)
        case kind if kind == pa.timestamp("us", "UTC") and reader.get("logicalType") == ZONED:
            return moments_or_bad(_texts(array, rows), rows)
    raise TypeError(f"{reader['type']} as {wanted}")


def _texts(array: pa.BinaryArray, rows: Rows) -> pa.StringArray:
    try:
        return array.cast(pa.string())
    except pa.ArrowInvalid:
        texts = [_text(raw) for raw in values_of(array)]
    rows.spoil(np.array([text is False for text in texts]))
    return pa.array([text or ("" if text is False else text) for text in texts], pa.string())


def _text(raw: bytes | None) -> str | bool | None:
    """The text; False where the bytes are none."""
    try:
        return None if raw is None else raw.decode()
    except UnicodeDecodeError:
        return False


def _number(written: str, logical: str, wanted: str, array: pa.Array, rows: Rows) -> pa.Array:
    if wanted in ("timestamp", "timestamptz"):
        return _moments(logical, array, rows).view(arrow_type(Primitive(wanted)))  # type: ignore[arg-type]
    if wanted == "long" and logical in DAY:
        return _times(logical, array, rows)
    if wanted in ("float", "double") and is_lossy(written, wanted):
        return _rounded(wanted, array, rows)
    if wanted == "date" and logical == "date":
        return array.view(pa.date32())
    kind = arrow_type(Primitive(wanted))  # type: ignore[arg-type]
    if array.type == kind or (written, wanted) in _WIDER:
        return array.cast(kind)
    raise TypeError(f"{written} as {wanted}")


def _moments(logical: str, array: pa.Array, rows: Rows) -> pa.Array:
    """Microseconds."""
    if logical.endswith("timestamp-micros"):
        return array
    if not logical.endswith("timestamp-millis"):
        raise TypeError(f"{logical or 'a number'} as a timestamp")
    return _thousandfold(array, -_MILLIS, _MILLIS, rows)


def _times(logical: str, array: pa.Array, rows: Rows) -> pa.Array:
    if logical == "time-millis":
        return _thousandfold(array, 0, DAY[logical], rows)
    numbers, _ = _filled(array)
    rows.spoil((numbers < 0) | (numbers > DAY[logical]))
    return array


def _thousandfold(array: pa.Array, low: int, high: int, rows: Rows) -> pa.Array:
    numbers, missing = _filled(array)
    outside = (numbers < low) | (numbers > high)
    rows.spoil(outside)
    return pa.array(np.where(outside, 0, numbers).astype(np.int64) * 1000, mask=missing)


def _rounded(wanted: str, array: pa.Array, rows: Rows) -> pa.Array:
    """The nearest floating number; a record with a value that has none of its own is bad."""
    numbers, missing = _filled(array)
    near = numbers.astype(np.float32 if wanted == "float" else np.float64)
    in_range = np.less(near, 2.0**63)  # what is not has no whole number to compare with
    rows.spoil(np.where(in_range, near, 0).astype(np.int64) != numbers)
    return pa.array(near, mask=missing)


def _filled(array: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The values, with a zero for each null, and where these are."""
    if not array.null_count:
        return array.to_numpy(zero_copy_only=False), np.zeros(len(array), bool)
    missing = array.is_null().to_numpy(zero_copy_only=False)
    return array.fill_null(0).to_numpy(zero_copy_only=False), missing
