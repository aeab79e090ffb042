"""Columns of drawn tables: the values that they get, and how Iceberg and Arrow have them.

A value is the plain one that docs/types.md names: days, microseconds, the digits of a decimal.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any, Literal

import pyarrow as pa

Format = Literal["avro", "json", "protobuf"]
Values = dict[str, Any]

_TEXTS = ("Zürich", "Ångström ", "naïve café", "x", "straße, 4", " two  blanks ", "日本", "a" * 40, "Ñandú")
_SCALE = 3
PLACE = pa.struct([("city", pa.string()), ("lat", pa.float64()), ("zip", pa.int32())])


@dataclass(frozen=True)
class Column:
    """A column.

    Args:
        draw: A value for a record.
        not_in: Formats whose schema leaves it out.
        optional: Whether it may be null.
    """

    name: str
    arrow: pa.DataType
    draw: Callable[[Random], Any]
    not_in: tuple[Format, ...] = ()
    optional: bool = False


def _single(chance: Random) -> float:
    value: float = struct.unpack("f", struct.pack("f", chance.uniform(-1e6, 1e6)))[0]
    return value


def _place(chance: Random) -> Values:
    zip_code = chance.choice((None, chance.randrange(10_000)))
    return {"city": chance.choice(_TEXTS), "lat": chance.uniform(-90, 90), "zip": zip_code}


def _bytes(chance: Random) -> bytes:
    return bytes([chance.randrange(128, 256), *chance.randbytes(chance.randrange(1, 6))])


def _micros(chance: Random) -> int:
    return chance.randrange(-(10**15), 4 * 10**15)


def _counts(chance: Random) -> dict[str, int]:
    return {f"k{n}": chance.randrange(10**12) for n in range(chance.randrange(1, 4))}


COLUMNS = (
    Column("flag", pa.bool_(), lambda c: c.random() < 0.5),
    Column("small", pa.int32(), lambda c: c.randrange(-(2**31), 2**31)),
    Column("large", pa.int64(), lambda c: c.randrange(2**53, 2**62) * c.choice((-1, 1)) | 1),
    Column("rate", pa.float32(), _single),
    Column("amount", pa.float64(), lambda c: c.uniform(-1e9, 1e9)),
    Column("price", pa.decimal128(12, _SCALE), lambda c: c.randrange(1, 10**9), ("protobuf",)),
    Column("name", pa.string(), lambda c: c.choice(_TEXTS)),
    Column("note", pa.string(), lambda c: c.choice(("", "-", *_TEXTS)), optional=True),
    Column("blob", pa.binary(), _bytes),
    Column("day", pa.date32(), lambda c: c.randrange(-30_000, 60_000), ("protobuf",)),
    Column("seen", pa.timestamp("us", "UTC"), _micros),
    Column("here", pa.timestamp("us"), _micros, ("protobuf",)),
    Column("clock", pa.int64(), lambda c: c.randrange(86_400_000) * 1000, ("protobuf",)),
    Column("tags", pa.list_(pa.string()), lambda c: c.sample(_TEXTS, c.randrange(2, 5))),
    Column("counts", pa.map_(pa.string(), pa.int64()), _counts),
    Column("place", PLACE, _place, optional=True),
    Column("extra", pa.int32(), lambda c: c.randrange(1000), optional=True),
)
"""The last one came later, where a table evolved."""

EXTRA = "extra"
MOMENTS = ("seen", "here")


def columns_of(form: Format) -> tuple[Column, ...]:
    """The columns that schemas of a format have here."""
    return tuple(column for column in COLUMNS if form not in column.not_in)


def drawn(form: Format, chance: Random, *, evolved: bool) -> Values:
    """The values of a record."""
    values = {column.name: _drawn(column, form, chance) for column in columns_of(form)}
    if not evolved:
        values[EXTRA] = None
    return values


def _drawn(column: Column, form: Format, chance: Random) -> Any:
    if column.optional and chance.random() < 0.3:
        return None
    value = column.draw(chance)
    if form == "json" and column.name in MOMENTS:
        return value // 1000 * 1000  # Connect's JSON has milliseconds
    return value


def arrow_of(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Values as a column of a table."""
    if pa.types.is_decimal(kind):
        values = [None if v is None else Decimal(v).scaleb(-_SCALE) for v in values]
    if pa.types.is_map(kind):
        values = [None if v is None else [*v.items()] for v in values]
    return pa.array(values, kind)


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are the same: of a number its bits, but that there is one NaN."""
    if isinstance(one, float) and isinstance(other, float):
        return struct.pack("d", one) == struct.pack("d", other) or (math.isnan(one) and math.isnan(other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    return type(one) is type(other) and bool(one == other)
