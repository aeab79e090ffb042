"""Values of partitions by the words of Iceberg's specification alone: whole numbers, and no library's dates.

https://iceberg.apache.org/spec/#partition-transforms, and appendix B for the hash. It shares no code with the
engine, PyIceberg or Arrow.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

_DAY = 86_400 * 10**6
_INT = 2**31 - 1


def partition_value(transform: str, kind: str, value: Any) -> Any:
    """What a transform makes of a value: days, or microseconds, where the type is of time."""
    if value is None:
        return None
    word, _, size = transform.rstrip("]").partition("[")
    match word:
        case "identity":
            return value
        case "bucket":
            return (_murmur3(_hashed(kind, value)) & _INT) % int(size)
        case "truncate":
            return _truncated(value, int(size))
    days = value if kind == "date" else value // _DAY
    year, month = month_of(days)
    parts = {"day": days, "month": 12 * (year - 1970) + month - 1, "year": year - 1970}
    # The specification gives hours an int, and no word on moments beyond: they stay at its ends.
    return parts[word] if word in parts else max(-_INT - 1, min(_INT, value // (3600 * 10**6)))


def _truncated(value: Any, width: int) -> Any:
    if isinstance(value, str | bytes):
        return value[:width]
    if isinstance(value, Decimal):
        unscaled = int(value.scaleb(-int(value.as_tuple().exponent)))
        return Decimal(unscaled - unscaled % width).scaleb(int(value.as_tuple().exponent))
    return value - value % width


def _hashed(kind: str, value: Any) -> bytes:
    if isinstance(value, str | bytes):
        return value.encode() if isinstance(value, str) else value
    if isinstance(value, Decimal):
        unscaled = int(value.scaleb(-int(value.as_tuple().exponent)))
        length = 1
        while not -(1 << 8 * length - 1) <= unscaled < 1 << 8 * length - 1:
            length += 1
        return unscaled.to_bytes(length, "big", signed=True)
    assert kind in ("int", "long", "date", "timestamp", "timestamptz")
    return int(value).to_bytes(8, "little", signed=True)


def month_of(days: int) -> tuple[int, int]:
    """Year and month of a day since 1970-01-01, by counting eras of 400 years, years and months."""
    eras, left = divmod(days + 719_528, 146_097)  # since 0000-01-01
    year = 0
    while left >= (length := 366 if _is_leap(year) else 365):
        year, left = year + 1, left - length
    months = (31, 29 if _is_leap(year) else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    month = 1
    while left >= months[month - 1]:
        month, left = month + 1, left - months[month - 1]
    return 400 * eras + year, month


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _murmur3(data: bytes) -> int:
    """The x86 variant for 32 bits, with seed 0."""
    wide = 0xFFFFFFFF

    def mixed(block: int) -> int:
        block = block * 0xCC9E2D51 & wide
        return (block << 15 | block >> 17) * 0x1B873593 & wide

    mixed_bits, whole = 0, len(data) - len(data) % 4
    for at in range(0, whole, 4):
        mixed_bits ^= mixed(int.from_bytes(data[at : at + 4], "little"))
        mixed_bits = ((mixed_bits << 13 | mixed_bits >> 19) & wide) * 5 + 0xE6546B64 & wide
    if data[whole:]:
        mixed_bits ^= mixed(int.from_bytes(data[whole:], "little"))
    mixed_bits ^= len(data)
    mixed_bits = (mixed_bits ^ mixed_bits >> 16) * 0x85EBCA6B & wide
    mixed_bits = (mixed_bits ^ mixed_bits >> 13) * 0xC2B2AE35 & wide
    return mixed_bits ^ mixed_bits >> 16
