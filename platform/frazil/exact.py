"""Values of Arrow as Python holds them, exactly: the one room in which they become Python's.

Python's own dates end with the year 9999 and begin with the year 1, Iceberg's and Arrow's do not; and a text
of Arrow's is bytes that nobody has looked at. So here a moment is its number: days, or microseconds (or
whatever unit the type has), since 1970. `tests/unit/test_exact_values.py` forbids `as_py` and `to_pylist`
elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

_DAY = 86_400 * 10**6
_EPOCH = datetime(1970, 1, 1)
_ERA, _ERA_DAYS = 400, 146_097  # years after which the calendar repeats itself
_UNITS = {"s": 10**6, "ms": 1000, "us": 1}


def values_of(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """All values; moments as numbers, and of a text that is not UTF-8 what can be read."""
    chunks = getattr(array, "chunks", None)
    return _listed(array) if chunks is None else [value for part in chunks for value in _listed(part)]


def value_of(scalar: pa.Scalar) -> Any:
    """One value, as `values_of` has it."""
    import pyarrow as pa

    return values_of(pa.array([scalar], scalar.type))[0]


def flags_of(array: pa.BooleanArray) -> NDArray[np.bool_]:
    """Which values are true, as NumPy has it; null is false."""
    flags: NDArray[np.bool_] = array.fill_null(False).to_numpy(zero_copy_only=False)
    return flags


def rows_of(rows: pa.RecordBatch | pa.Table) -> list[dict[str, Any]]:
    """All rows, by the names of their columns; values as `values_of` has them."""
    return _named(rows, values_of)


def shown(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """All values for people: moments as Python's own, and as text by ISO 8601 where it has none of them."""
    show = _shower(array.type)
    return [None if value is None else show(value) for value in values_of(array)]


def shown_rows(rows: pa.RecordBatch | pa.Table) -> list[dict[str, Any]]:
    """All rows for people, by the names of their columns; values as `shown` has them."""
    return _named(rows, shown)


def utc(micros: int | None) -> datetime | None:
    """A moment as Python's own; None where it has none of it."""
    try:
        return None if micros is None else (_EPOCH + timedelta(microseconds=micros)).replace(tzinfo=UTC)
    except OverflowError:
        return None


def iso_moment(micros: int, *, zoned: bool = True) -> str:
    """Any moment by ISO 8601; years of more than four digits, and those before the year 0, have a sign."""
    days, rest = divmod(micros, _DAY)
    return f"{iso_day(days)}T{_clock(rest).isoformat()}{'+00:00' if zoned else ''}"


def iso_day(days: int) -> str:
    """Any day by ISO 8601, by the days since 1970-01-01."""
    # The year of the 400 that Python's calendar begins with that has the same days.
    eras, of_era = divmod(days + (date(1970, 1, 1) - date(1, 1, 1)).days, _ERA_DAYS)
    like = date(1, 1, 1) + timedelta(of_era)
    year = like.year + eras * _ERA
    signed = f"{year:04}" if 0 <= year <= 9999 else f"{year:+05}"
    return f"{signed}-{like.month:02}-{like.day:02}"


def _named(rows: pa.RecordBatch | pa.Table, values: Callable[[Any], list[Any]]) -> list[dict[str, Any]]:
    columns = [values(column) for column in rows.columns]
    return [dict(zip(rows.schema.names, row, strict=True)) for row in zip(*columns, strict=True)]


def _listed(array: pa.Array) -> list[Any]:
    kind = _numbered(array.type)
    plain = array if kind == array.type else array.view(kind)
    try:
        listed: list[Any] = plain.to_pylist()
    except UnicodeDecodeError:
        listed = list(map(_readable(kind), plain.view(_in_bytes(kind)).to_pylist()))
    return listed


def _numbered(kind: pa.DataType) -> pa.DataType:
    """The type with numbers in the place of moments."""
    import pyarrow as pa

    is_ = pa.types
    if is_.is_timestamp(kind) or is_.is_time64(kind) or is_.is_date64(kind) or is_.is_duration(kind):
        return pa.int64()
    if is_.is_date32(kind) or is_.is_time32(kind):
        return pa.int32()
    if is_.is_dictionary(kind):
        return kind
    return _with_parts(kind, _numbered)


def _in_bytes(kind: pa.DataType) -> pa.DataType:
    """The type with bytes in the place of texts."""
    import pyarrow as pa

    if pa.types.is_string(kind):
        return pa.binary()
    return pa.large_binary() if pa.types.is_large_string(kind) else _with_parts(kind, _in_bytes)


def _with_parts(kind: pa.DataType, of: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """The type with other parts; one without parts is as it is."""
    import pyarrow as pa

    def field(own: pa.Field) -> pa.Field:
        return own.with_type(of(own.type))

    if pa.types.is_struct(kind):
        made = pa.struct([field(own) for own in kind])
    elif pa.types.is_map(kind):
        made = pa.map_(field(kind.key_field), field(kind.item_field))
    elif pa.types.is_large_list(kind):
        made = pa.large_list(field(kind.value_field))
    elif pa.types.is_list(kind):
        made = pa.list_(field(kind.value_field))
    else:
        return kind
    return kind if made == kind else made


def _readable(kind: pa.DataType) -> Callable[[Any], Any]:
    """What makes texts of bytes again where the type has texts."""
    import pyarrow as pa

    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _or_none(lambda raw: raw.decode(errors="replace"))
    return _in_parts(kind, _readable)


def _shower(kind: pa.DataType) -> Callable[[Any], Any]:
    """What makes moments for people of their numbers."""
    import pyarrow as pa

    is_ = pa.types
    if is_.is_timestamp(kind):
        return _or_none(lambda number: _moment(_micros(number, kind.unit), zoned=bool(kind.tz)))
    if is_.is_date32(kind):
        return _or_none(_day)
    if is_.is_time64(kind):
        return _or_none(
            lambda number: (datetime.min + timedelta(microseconds=_micros(number, kind.unit))).time()
        )
    if is_.is_duration(kind):
        return _or_none(lambda number: timedelta(microseconds=_micros(number, kind.unit)))
    return _in_parts(kind, _shower)


def _in_parts(kind: pa.DataType, of: Callable[[pa.DataType], Callable[[Any], Any]]) -> Callable[[Any], Any]:
    """The same for what a type consists of."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        parts = {own.name: of(own.type) for own in kind}
        return _or_none(lambda row: {name: parts[name](value) for name, value in row.items()})
    if pa.types.is_map(kind):
        key, item = of(kind.key_type), of(kind.item_type)
        return _or_none(lambda pairs: [(key(k), item(v)) for k, v in pairs])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        element = of(kind.value_type)
        return _or_none(lambda values: [element(value) for value in values])
    return lambda value: value


def _or_none(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else make(value)


def _micros(number: int, unit: str) -> int:
    return number // 1000 if unit == "ns" else number * _UNITS[unit]


def _clock(micros: int) -> time:
    return (datetime.min + timedelta(microseconds=micros)).time()


def _moment(micros: int, *, zoned: bool) -> datetime | str:
    moment = utc(micros)
    if moment is None:
        return iso_moment(micros, zoned=zoned)
    return moment if zoned else moment.replace(tzinfo=None)


def _day(days: int) -> date | str:
    try:
        return date(1970, 1, 1) + timedelta(days)
    except OverflowError:
        return iso_day(days)
