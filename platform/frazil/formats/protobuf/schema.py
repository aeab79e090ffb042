"""Protobuf schema to logical schema. Rules: Confluent's `ProtoToLogicalTypeConverter`, but for these.

- Timestamps have microseconds, not nanoseconds: no Iceberg v2 table holds more. Digits behind are cut.
- Time-of-day and Duration become a bigint of microseconds: Spark cannot load a table with a `time`.
- A proto2 or editions field with presence is optional, and null where it is absent, whatever its default.
- Groups become structs (Confluent drops them).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Context
from decimal import Decimal as Number
from functools import partial
from typing import TYPE_CHECKING

from frazil.errors import SchemaRefusedError
from frazil.formats.logical import (
    Decimal,
    Field,
    List,
    Map,
    Primitive,
    Struct,
    Type,
    misfit,
    relaxed,
    same_type,
)
from frazil.formats.protobuf.descriptors import compiled, file_of, message_at
from frazil.formats.protocol import MAX_DEPTH, Mapping, WriterSchema, decimal_type

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor, OneofDescriptor


_NO_COLUMN = frozenset(
    f"google.protobuf.{name}" for name in ("Struct", "Value", "ListValue", "Empty", "NullValue")
)

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
"""Most digits and bytes of a decimal before it is fitted to its column: twice what a column holds."""
_EXACT = Context(prec=38)


def columns_of(writers: Sequence[WriterSchema], subject: str, record_type: str | None = None) -> Struct:
    """The columns of the newest schema, optional wherever an older one has no value for them.

    So a plain field that was added later, which Tableflow refuses, is an optional column here.
    """
    *older, newest = writers
    message = record_message(newest, subject, record_type)
    columns = message_to_logical(message, subject)
    for writer in older:
        try:
            then = record_message(writer, subject, message.full_name)
            known = message_to_logical(then, subject)
        except SchemaRefusedError:
            continue
        alike = then.full_name == message.full_name or same_type(known, columns)
        if alike and misfit(known, columns) is None:
            columns = relaxed(columns, known)
    return columns


def record_message(writer: WriterSchema, subject: str, record_type: str | None = None) -> Descriptor:
    """The type of a subject's records: the message of that full name, else the file's first."""
    file = file_of(compiled(writer, subject))
    named = _named(file.message_types_by_name.values(), record_type) if record_type else None
    found = named or message_at(file, (0,))
    if found is None:
        raise Mapping(subject).refusal("", "the file declares no message", "Declare one.")
    return found


def message_to_logical(message: Descriptor, subject: str) -> Struct:
    """The columns of a message."""
    return _Columns(subject).message(message, "", ())


class _Columns(Mapping):
    """One walk over one message."""

    def message(self, message: Descriptor, path: str, outer: tuple[str, ...]) -> Struct:
        name = message.full_name
        if name in outer:
            raise self.refusal(path, f"message {name} contains itself", "Bound the depth in the schema.")
        if len(outer) > MAX_DEPTH:
            raise self.refusal(path, f"it is deeper than {MAX_DEPTH} levels", "Make it flatter.")
        inner = (*outer, name)
        fields = [self._field(f, path, inner) for f in regular_fields(message)]
        fields += [self._oneof(o, path, inner) for o in oneofs(message)]
        self.check_names([f.name for f in fields], path, name)
        return Struct(tuple(fields))

    def _field(self, field: FieldDescriptor, path: str, outer: tuple[str, ...]) -> Field:
        where = f"{path}.{field.name}".lstrip(".")
        self.count(where)
        if is_entry(field):
            return Field(field.name, self._map(field, where, outer), defaulted=True)
        if field.is_repeated:
            return Field(field.name, List(self._single(field, f"{where}[]", outer)), defaulted=True)
        optional = field.has_presence and not field.is_required
        return Field(field.name, self._single(field, where, outer), optional, defaulted=not field.is_required)

    def _oneof(self, oneof: OneofDescriptor, path: str, outer: tuple[str, ...]) -> Field:
        where = f"{path}.{oneof.name}".lstrip(".")
        members = [replace(self._field(f, where, outer), optional=True) for f in oneof.fields]
        self.check_names([f.name for f in members], where, oneof.name)
        return Field(oneof.name, Struct(tuple(members)), optional=True)

    def _map(self, field: FieldDescriptor, path: str, outer: tuple[str, ...]) -> Map:
        key, value = field.message_type.fields
        declared = field.message_type.GetOptions().map_entry
        optional = value.has_presence and not declared
        return Map(scalar_type(key), self._single(value, f"{path}{{}}", outer), optional)

    def _single(self, field: FieldDescriptor, path: str, outer: tuple[str, ...]) -> Type:
        if field.message_type is None:
            return scalar_type(field)
        name = field.message_type.full_name
        if name in _NO_COLUMN:
            raise self.refusal(path, f"{name} has no column type", "Use a message with fields, or bytes.")
        if name in WRAPPERS:
            return scalar_type(field.message_type.fields[0])
        if name == DECIMAL:
            return self._decimal(field, path)
        if name in KNOWN:
            return KNOWN[name][0]
        return self.message(field.message_type, path, outer)

    def _decimal(self, field: FieldDescriptor, path: str) -> Decimal:
        todo = 'Write [(confluent.field_meta).params = {key: "precision", value: "18"}, ...] behind it.'
        found = decimal_of(field)
        if found is None:
            raise self.refusal(path, f"{DECIMAL} without precision and scale has no column type", todo)
        return decimal_type(found.precision, found.scale, partial(self.refusal, path))


def _named(messages: Sequence[Descriptor], name: str) -> Descriptor | None:
    for message in messages:
        if message.full_name == name:
            return message
        if name.startswith(f"{message.full_name}."):
            return _named(message.nested_types, name)
    return None


def scalar_type(field: FieldDescriptor) -> Primitive:
    """The type of a field without a message."""
    return Primitive(_SCALARS[field.type - 1])  # type: ignore[arg-type]


def oneofs(message: Descriptor) -> list[OneofDescriptor]:
    """The oneofs that the author wrote; proto3's `optional` makes some of its own."""
    return [o for o in message.oneofs if not _synthetic(o)]


def regular_fields(message: Descriptor) -> list[FieldDescriptor]:
    """The fields outside of the author's oneofs."""
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
