"""Protobuf schema to logical schema. Rules: Confluent's `ProtoToLogicalTypeConverter`, but for these.

- Timestamps have microseconds, not nanoseconds: no Iceberg v2 table holds more. Digits behind are cut.
- Time-of-day and Duration become a bigint of microseconds: Spark cannot load a table with a `time`.
- A proto2 or editions field with presence is optional, and null where it is absent, whatever its default.
- Groups become structs (Confluent drops them).
- A message that Flink wrapped around a list or a oneof is what is in it, as there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from frazil.formats.columns.unmappable import REFUSED, Unmappable, fitting, plain, too_many_digits
from frazil.formats.logical import (
    JSON_TEXT,
    VARIANT_NEEDS_V3,
    Field,
    List,
    Map,
    Primitive,
    Struct,
    Type,
)
from frazil.formats.paths import member_path
from frazil.formats.protobuf.descriptors import compiled, file_of, message_at
from frazil.formats.protobuf.well_known import (
    DECIMAL,
    NO_COLUMN,
    VARIANT,
    WRAPPERS,
    decimal_of,
    known_type,
    params_of,
)
from frazil.formats.protocol import MAX_DEPTH, Mapping, WriterSchema, decimal_type

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor, OneofDescriptor


_SCALARS = (
    "double", "float", "long", "long", "int", "long", "long", "boolean", "string",
    "", "", "binary", "long", "string", "int", "long", "int", "long",
)  # fmt: skip
"""By `FieldDescriptor.type` - 1: double, float, int64, uint64, int32, fixed64, fixed32, bool, string,
group, message, bytes, uint32, enum, sfixed32, sfixed64, sint32, sint64."""

UNSIGNED_LONG = frozenset({4, 6})
"""`FieldDescriptor.type` of uint64 and fixed64: the upper half of their values fits in no column."""


def record_message(writer: WriterSchema, subject: str, record_type: str | None = None) -> Descriptor:
    """The type of a subject's records: the message of that full name, else the file's first."""
    file = file_of(compiled(writer, subject))
    named = _named(file.message_types_by_name.values(), record_type) if record_type else None
    message = named or message_at(file, (0,))
    if message is None:
        raise Mapping(subject).refusal("", "the file declares no message", "Declare one.")
    return message


def message_to_logical(message: Descriptor, subject: str, unmappable: Unmappable = REFUSED) -> Struct:
    """The columns of a message."""
    return fitting(
        unmappable,
        lambda deepest: _Columns(subject, unmappable, deepest).message(message, "", ()),
        MAX_DEPTH,
    )


class _Columns(Mapping):
    """One walk over one message."""

    def message(self, message: Descriptor, path: str, outer: tuple[str, ...]) -> Struct:
        inner = self._within(message, path, outer)
        fields = [self._field(f, path, inner) for f in regular_fields(message)]
        fields += [self._oneof(o, path, inner) for o in oneofs(message)]
        self.check_names([f.name for f in fields], path, message.full_name)
        return Struct(tuple(fields))

    def _within(self, message: Descriptor, path: str, outer: tuple[str, ...]) -> tuple[str, ...]:
        """The messages that the fields of this one lie in."""
        name = message.full_name
        if name in outer:
            raise self.refusal(path, f"message {name} contains itself", "Bound the depth in the schema.")
        if len(outer) > MAX_DEPTH:
            raise self.refusal(path, f"it is deeper than {MAX_DEPTH} levels", "Make it flatter.")
        self.cut_at(path, len(outer))
        return (*outer, name)

    def _field(self, field: FieldDescriptor, path: str, outer: tuple[str, ...]) -> Field:
        where = member_path(path, field.name)
        self.count(where)
        if is_entry(field):
            entries = self._map(field, where, outer)
            return Field(field.name, entries, doc=self.commented(where, ""), defaulted=True)
        if field.is_repeated:
            kind = List(self._single(field, f"{where}[]", outer), _may_wrap_nothing(field))
            return Field(field.name, kind, doc=self.commented(where, ""), defaulted=True)
        optional, of = field.has_presence and not field.is_required, self._single(field, where, outer)
        return Field(field.name, of, optional, self.commented(where, ""), defaulted=not field.is_required)

    def _oneof(self, oneof: OneofDescriptor, path: str, outer: tuple[str, ...]) -> Field:
        where = member_path(path, oneof.name)
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
        text: Type = JSON_TEXT
        return self.or_text(path, lambda: self._of_message(field, path, outer), lambda: text)

    def _of_message(self, field: FieldDescriptor, path: str, outer: tuple[str, ...]) -> Type:
        name = field.message_type.full_name
        if name == VARIANT:
            raise self.refusal(path, VARIANT_NEEDS_V3, "Write the value as text or as a map.")
        if name in NO_COLUMN:
            raise self.refusal(path, f"{name} has no column type", "Use a message with fields, or bytes.")
        if name in WRAPPERS:
            return scalar_type(field.message_type.fields[0])
        if name == DECIMAL:
            return self._decimal(field, path)
        if payload := payload_of(field):
            make = self._oneof if hasattr(payload, "fields") else self._field
            return make(payload, path, self._within(field.message_type, path, outer)).type
        return known_type(field) or self.message(field.message_type, path, outer)

    def _decimal(self, field: FieldDescriptor, path: str) -> Type:
        todo = 'Write [(confluent.field_meta).params = {key: "precision", value: "18"}, ...] behind it.'
        decimal = decimal_of(field)
        if decimal is None:
            raise self.refusal(path, f"{DECIMAL} without precision and scale has no column type", todo)
        if decimal.declared and self._unmappable.digits:
            self._texts[plain(path)] = too_many_digits(decimal.declared)
            return JSON_TEXT
        return decimal_type(decimal.declared or decimal.precision, decimal.scale, partial(self.refusal, path))


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
    synthetic = _synthetic(message)
    return [o for o in message.oneofs if o.name not in synthetic]


def regular_fields(message: Descriptor) -> list[FieldDescriptor]:
    """The fields outside of the author's oneofs."""
    synthetic = _synthetic(message)
    return [f for f in message.fields if not f.containing_oneof or f.containing_oneof.name in synthetic]


def payload_of(field: FieldDescriptor) -> FieldDescriptor | OneofDescriptor | None:
    """The one part, `value`, of a message that Flink wrapped around it; None where it is no such message."""
    message: Descriptor = field.message_type
    if params_of(field).get("flink.wrapped") != "true":
        return None
    parts = [*regular_fields(message), *oneofs(message)]
    return parts[0] if [p.name for p in parts] == ["value"] else None


def _may_wrap_nothing(field: FieldDescriptor) -> bool:
    payload = payload_of(field) if field.message_type else None
    return payload is not None and (hasattr(payload, "fields") or payload.has_presence)


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


def _synthetic(message: Descriptor) -> set[str]:
    """The names of the oneofs that stand for proto3's `optional`."""
    from google.protobuf.descriptor_pb2 import DescriptorProto

    if not message.oneofs:
        return set()
    proto = DescriptorProto()
    message.CopyToProto(proto)
    return {proto.oneof_decl[f.oneof_index].name for f in proto.field if f.proto3_optional}
