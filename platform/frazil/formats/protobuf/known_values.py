"""Well-known messages as one number each, in microseconds or days, or a reason why they are none."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Context, Decimal

from frazil.formats import logical

__all__ = ["KNOWN_VALUES", "NANOS", "SECONDS", "decimal_value"]

SECONDS = (-62_135_596_800, 253_402_300_799)
"""Of a Timestamp: the years 1 to 9999, as google.protobuf has it."""
NANOS = (0, 999_999_999)
"""Of a Timestamp."""

_MICROS = 1_000_000
_SPAN = 315_576_000_000
_EPOCH = dt.date(1970, 1, 1).toordinal()
_MOST_DIGITS, _MOST_BYTES = 76, 32
"""Of a decimal before it is made to fit its column: twice what that may hold."""
_EXACT = Context(prec=38)


def _timestamp(seconds: int, nanos: int) -> int:
    if not (SECONDS[0] <= seconds <= SECONDS[1] and NANOS[0] <= nanos <= NANOS[1]):
        raise ValueError(f"{seconds} s and {nanos} ns are no Timestamp")
    return seconds * _MICROS + nanos // 1000


def _duration(seconds: int, nanos: int) -> int:
    if abs(seconds) > _SPAN or abs(nanos) > NANOS[1] or seconds * nanos < 0:
        raise ValueError(f"{seconds} s and {nanos} ns are no Duration")
    return seconds * _MICROS + int(nanos / 1000)


def _date(year: int, month: int, day: int) -> int:
    return dt.date(year, month, day).toordinal() - _EPOCH


def _time_of_day(hours: int, minutes: int, seconds: int, nanos: int) -> int:
    time = dt.time(hours, minutes, seconds)
    if not NANOS[0] <= nanos <= NANOS[1]:
        raise ValueError(f"{nanos} ns are no part of a second")
    return ((time.hour * 60 + time.minute) * 60 + time.second) * _MICROS + nanos // 1000


KNOWN_VALUES: dict[str, Callable[..., int]] = {
    "google.protobuf.Timestamp": _timestamp,
    "google.protobuf.Duration": _duration,
    "google.type.Date": _date,
    "google.type.TimeOfDay": _time_of_day,
}
"""By the message's full name; each takes the message's fields in order."""


def decimal_value(kind: logical.Decimal, value: bytes, scale: int) -> Decimal:
    """A `confluent.type.Decimal` as its column holds it.

    Args:
        kind: Precision and scale of the column.
        value: The unscaled number, big-endian.
        scale: As the record says.

    Raises:
        ValueError: Digits would be lost.
    """
    unscaled = int.from_bytes(value, "big", signed=True)
    shift = kind.scale - scale
    if abs(shift) > _MOST_DIGITS or len(value) > _MOST_BYTES:
        raise ValueError(f"a decimal of scale {scale} does not fit {kind}")
    number, lost = divmod(unscaled * 10 ** max(shift, 0), 10 ** max(-shift, 0))
    if lost or abs(number) >= 10**kind.precision:
        raise ValueError(f"{unscaled} of scale {scale} does not fit {kind}")
    return Decimal(number).scaleb(-kind.scale, _EXACT)
