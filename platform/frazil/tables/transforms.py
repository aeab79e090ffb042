"""The values of partitions, by columns. Imports PyArrow only, for Spark's workers.

PyIceberg's own give null for years and months beyond the year 262142, and hours that went round beyond the
year 246953: there a filter by time would miss rows. Source: https://iceberg.apache.org/spec/#partition-transforms
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyiceberg.transforms import Transform
    from pyiceberg.types import IcebergType

    Numbers = NDArray[np.int64]

_HOUR = 3600 * 10**6
_DAY = 24 * _HOUR
_INT = np.iinfo(np.int32)
_ALIGNED = 16


def transformed(column: pa.Array, transform: Transform[object, object], source: IcebergType) -> pa.Array:
    """The value of a partition for each row; dates and moments are numbers."""
    if make := _OF_TIME.get(str(transform)):
        return _of_time(column, make)
    if str(transform) == "void":
        return pa.nulls(len(column), pa.int32())
    made = transform.pyarrow_transform(source)(_aligned(column))
    return made.storage if isinstance(made, pa.ExtensionArray) else made


def _aligned(column: pa.Array) -> pa.Array:
    """The same in memory of its own where it stands as Spark sent it: Rust panics at such decimals."""
    if not any(buffer is not None and buffer.address % _ALIGNED for buffer in column.buffers()):
        return column
    return pa.concat_arrays([column, column.slice(0, 0)])  # of two, it makes a new one


def hours_of(micros: int) -> int:
    """The partition `hour` of a moment."""
    return max(int(_INT.min), min(int(_INT.max), micros // _HOUR))


def months_of(days: int) -> int:
    """The partition `month` of a day."""
    return int(_months(np.array([days], np.int64), True)[0])


def _of_time(column: pa.Array, make: Callable[[Numbers, bool], Numbers]) -> pa.Array:
    is_date = pa.types.is_date32(column.type)
    numbers = column.view(pa.int32() if is_date else pa.int64())
    numbers_filled = numbers.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    gone = numbers.is_null().to_numpy(zero_copy_only=False)
    # An hour beyond what an int holds is the last one that it does: so the order stays.
    clipped = np.clip(make(numbers_filled, is_date), _INT.min, _INT.max)
    return pa.array(clipped.astype(np.int32), mask=gone)


def _days(numbers: Numbers, is_date: bool) -> Numbers:
    return numbers if is_date else numbers // _DAY


def _months(numbers: Numbers, is_date: bool) -> Numbers:
    return _days(numbers, is_date).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)


def _years(numbers: Numbers, is_date: bool) -> Numbers:
    return _months(numbers, is_date) // 12


def _hours(numbers: Numbers, is_date: bool) -> Numbers:
    return numbers * 24 if is_date else numbers // _HOUR


_OF_TIME: dict[str, Callable[[Numbers, bool], Numbers]] = {
    "day": _days,
    "month": _months,
    "year": _years,
    "hour": _hours,
}
