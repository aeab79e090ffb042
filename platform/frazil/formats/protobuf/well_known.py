"""Messages that are one value, and what Confluent's clients note beside a field.

The notes are parameters of `(confluent.field_meta)`: a decimal's digits, whether a moment has a zone, and
whether a message is there only because Protobuf has no list that may be missing, and no list of lists.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Context
from decimal import Decimal as Number
from typing import TYPE_CHECKING, Any

from frazil.formats.logical import MAX_DIGITS, Decimal, Primitive, Type

if TYPE_CHECKING:
    from google.protobuf.descriptor import FieldDescriptor

NO_COLUMN = frozenset(
    f"google.protobuf.{name}" for name in ("Struct", "Value", "ListValue", "Empty", "NullValue")
)
"""Messages of any shape, or of none."""

WRAPPERS = frozenset(
    f"google.protobuf.{name}Value"
    for name in ("Bool", "Int32", "UInt32", "Int64", "UInt64", "Float", "Double", "String", "Bytes")
)
"""Messages of one field, `value`: an optional primitive."""

DECIMAL = "confluent.type.Decimal"
"""One value, too; its precision and scale stand beside the field."""

VARIANT = "confluent.type.Variant"

TIMESTAMP = "google.protobuf.Timestamp"

SECONDS = (-62_135_596_800, 253_402_300_799)
"""First and last second of a Timestamp: the years 1 to 9999, as google.protobuf has it."""
NANOS = (0, 999_999_999)
"""Fewest and most nanoseconds of a Timestamp."""

_MICROS = 1_000_000
_SPAN = 315_576_000_000
_EPOCH = dt.date(1970, 1, 1).toordinal()
_MOST_DIGITS, _MOST_BYTES = 76, 32
"""Most digits and bytes of a decimal before it is fitted to its column: twice what a column holds."""
_EXACT = Context(prec=MAX_DIGITS)


def params_of(field: FieldDescriptor) -> Mapping[str, str]:
    """What `(confluent.field_meta).params` says of a field."""
    meta = _meta_of(field)
    return {} if meta is None else dict(meta.params)


def tags_of(field: FieldDescriptor) -> frozenset[str]:
    """What `(confluent.field_meta).tags` says of a field."""
    meta = _meta_of(field)
    return frozenset() if meta is None else frozenset(meta.tags)


def _meta_of(field: FieldDescriptor) -> Any:
    if not field.has_options:
        return None
    try:
        options = field.file.pool.FindMessageTypeByName("google.protobuf.FieldOptions")
        meta = field.file.pool.FindExtensionByName("confluent.field_meta")
    except KeyError:
        return None
    from google.protobuf.message_factory import GetMessageClass

    # The options' own class knows no extension of this pool: it keeps the bytes.
    extensions = GetMessageClass(options).FromString(field.GetOptions().SerializeToString())
    return extensions.Extensions[meta]


def decimal_of(field: FieldDescriptor) -> Decimal | None:
    """Precision and scale of a `confluent.type.Decimal`, with as many digits as a column has at most."""
    params = params_of(field)
    try:
        declared, scale = int(params.get("precision", "")), int(params.get("scale") or 0)
    except ValueError:
        return None
    return Decimal(min(declared, MAX_DIGITS), scale, declared if declared > MAX_DIGITS else 0)


def moment_type(field: FieldDescriptor) -> Primitive:
    """The column type of a Timestamp: Flink notes where it is the time on a wall's clock."""
    on_the_wall = params_of(field).get("flink.type") == "timestamp"
    return Primitive("timestamp" if on_the_wall else "timestamptz")


def known_type(field: FieldDescriptor) -> Type | None:
    """The column type of a message that is one value; None if it is not in `KNOWN`."""
    name = field.message_type.full_name
    if name == TIMESTAMP:
        return moment_type(field)
    return KNOWN[name][0] if name in KNOWN else None


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
    if (hours, minutes, seconds, nanos) == (24, 0, 0, 0):
        return 86_400 * _MICROS  # google/type/timeofday.proto: "for scenarios like business closing time"
    time = dt.time(hours, minutes, seconds)
    if not NANOS[0] <= nanos <= NANOS[1]:
        raise ValueError(f"{nanos} ns are no part of a second")
    return ((time.hour * 60 + time.minute) * 60 + time.second) * _MICROS + nanos // 1000


KNOWN: dict[str, tuple[Type, Callable[..., int]]] = {
    TIMESTAMP: (Primitive("timestamptz"), _timestamp),
    "google.protobuf.Duration": (Primitive("long"), _duration),
    "google.type.Date": (Primitive("date"), _date),
    "google.type.TimeOfDay": (Primitive("long"), _time_of_day),
}
"""Messages that are one value: its type, and what makes it of the message's fields, in order.

Spark holds microseconds: further digits are cut, nothing else.
"""


def decimal_value(kind: Decimal, value: bytes, scale: int) -> Number:
    """A `confluent.type.Decimal`, an unscaled big-endian number and its scale, as its column holds it.

    Raises ValueError where digits would be lost.
    """
    unscaled = int.from_bytes(value, "big", signed=True)
    shift = kind.scale - scale
    if abs(shift) > _MOST_DIGITS or len(value) > _MOST_BYTES:
        raise ValueError(f"a decimal of scale {scale} does not fit {kind}")
    number, lost = divmod(unscaled * 10 ** max(shift, 0), 10 ** max(-shift, 0))
    if lost or abs(number) >= 10**kind.precision:
        raise ValueError(f"{unscaled} of scale {scale} does not fit {kind}")
    return Number(number).scaleb(-kind.scale, _EXACT)
