"""What a Protobuf field is, and what a well-known message is worth: for the mapping and for both decoders."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Context
from decimal import Decimal as Number
from typing import TYPE_CHECKING

from frazil.formats.logical import Decimal, Primitive, Type

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor, OneofDescriptor

__all__ = [
    "DECIMAL", "KNOWN", "NANOS", "SECONDS", "UNSIGNED_LONG", "WRAPPERS",
    "decimal_of", "decimal_value", "is_entry", "oneofs", "regular_fields", "scalar_type",
]  # fmt: skip

_SCALARS = (
    "double", "float", "long", "long", "int", "long", "long", "boolean", "string",
    "", "", "binary", "long", "string", "int", "long", "int", "long",
)  # fmt: skip
"""By `FieldDescriptor.type` - 1: double, float, int64, uint64, int32, fixed64, fixed32, bool, string,
group, message, bytes, uint32, enum, sfixed32, sfixed64, sint32, sint64."""

UNSIGNED_LONG = frozenset({4, 6})
"""`FieldDescriptor.type` of uint64 and fixed64: the upper half of their values fits in no column."""

WRAPPERS = frozenset(
    f"google.protobuf.{name}Value"
    for name in ("Bool", "Int32", "UInt32", "Int64", "UInt64", "Float", "Double", "String", "Bytes")
)
"""Messages of one field, `value`: an optional primitive."""

DECIMAL = "confluent.type.Decimal"
"""One value, too; its precision and scale stand beside the field."""

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


def scalar_type(field: FieldDescriptor) -> Primitive:
    """The type of a field without a message."""
    return Primitive(_SCALARS[field.type - 1])  # type: ignore[arg-type]


def oneofs(message: Descriptor) -> list[OneofDescriptor]:
    """Those that the schema's author wrote; proto3's `optional` makes some of its own."""
    return [o for o in message.oneofs if not _synthetic(o)]


def regular_fields(message: Descriptor) -> list[FieldDescriptor]:
    """The fields outside of such a oneof."""
    return [f for f in message.fields if not f.containing_oneof or _synthetic(f.containing_oneof)]


def is_entry(field: FieldDescriptor) -> bool:
    """Whether a repeated field is a map: one by declaration, or messages `...Entry` of key and value."""
    message = field.message_type
    if message is None or not field.is_repeated:
        return False
    if message.GetOptions().map_entry:
        return True
    if not message.name.endswith("Entry") or [f.name for f in message.fields] != ["key", "value"]:
        return False
    key, value = message.fields
    return not (key.has_presence or key.is_repeated or value.is_repeated)


def decimal_of(field: FieldDescriptor) -> Decimal | None:
    """Precision and scale of a `confluent.type.Decimal`, from `(confluent.field_meta).params`."""
    try:
        options = field.file.pool.FindMessageTypeByName("google.protobuf.FieldOptions")
        meta = field.file.pool.FindExtensionByName("confluent.field_meta")
    except KeyError:
        return None
    from google.protobuf.message_factory import GetMessageClass

    # The options' own class knows no extension of this pool: it keeps the bytes.
    found = GetMessageClass(options).FromString(field.GetOptions().SerializeToString())
    params = found.Extensions[meta].params
    try:
        return Decimal(int(params["precision"]), int(params["scale"] or 0))
    except ValueError:
        return None


def _synthetic(oneof: OneofDescriptor) -> bool:
    from google.protobuf.descriptor_pb2 import DescriptorProto

    proto = DescriptorProto()
    oneof.containing_type.CopyToProto(proto)
    return any(f.proto3_optional for f in proto.field if f.name == oneof.fields[0].name)


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


KNOWN: dict[str, tuple[Type, Callable[..., int]]] = {
    "google.protobuf.Timestamp": (Primitive("timestamptz"), _timestamp),
    "google.protobuf.Duration": (Primitive("long"), _duration),
    "google.type.Date": (Primitive("date"), _date),
    "google.type.TimeOfDay": (Primitive("long"), _time_of_day),
}
"""Messages that are one value: its type, and what makes it of the message's fields, in order.

Spark holds microseconds: further digits are cut, nothing else.
"""


def decimal_value(kind: Decimal, value: bytes, scale: int) -> Number:
    """A `confluent.type.Decimal`, an unscaled big-endian number and its scale, as its column holds it.

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
    return Number(number).scaleb(-kind.scale, _EXACT)
