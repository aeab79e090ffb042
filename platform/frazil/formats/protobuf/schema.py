"""Protobuf schema to logical schema. Rules: Confluent's `ProtoToLogicalTypeConverter`, but for these.

- Timestamps have microseconds, not nanoseconds: no Iceberg v2 table holds more. Digits behind are cut.
- Time-of-day and Duration become a bigint of microseconds: Spark cannot load a table with a `time`.
- A proto2 or editions field with presence is optional, and null where it is absent, whatever its default.
- Groups become structs (Confluent drops them).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from frazil.errors import SchemaRefusedError
from frazil.formats.logical import Decimal, Field, List, Map, Struct, Type, misfit, relaxed, same_type
from frazil.formats.mapping import MAX_DEPTH, Mapping, decimal_type
from frazil.formats.protobuf import fields as pb
from frazil.formats.protobuf.descriptors import compiled, file_of, message_at
from frazil.formats.protocol import WriterSchema

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor, OneofDescriptor


__all__ = ["columns_of", "message_to_logical", "record_message"]

_NO_COLUMN = frozenset(
    f"google.protobuf.{name}" for name in ("Struct", "Value", "ListValue", "Empty", "NullValue")
)


def columns_of(writers: Sequence[WriterSchema], subject: str, record_type: str | None = None) -> Struct:
    """The columns of the newest schema, optional wherever an older one has no value for them.

    So a plain field that was added later, which Tableflow refuses, is an optional column here, and
    null where the writer did not know it.

    Args:
        writers: The subject's schemas, oldest first.
        subject: Named in errors.
        record_type: Full name of the message; default: the first one of the newest file.

    Raises:
        SchemaRefusedError: No column can hold the newest schema.
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
    """The message that a subject's records are: the one of that full name, else the file's first."""
    file = file_of(compiled(writer, subject))
    named = _named(file.message_types_by_name.values(), record_type) if record_type else None
    found = named or message_at(file, (0,))
    if found is None:
        raise Mapping(subject).refusal("", "the file declares no message", "Declare one.")
    return found


def message_to_logical(message: Descriptor, subject: str) -> Struct:
    """The columns of a message.

    Raises:
        SchemaRefusedError: No column can hold it.
    """
    return _Columns(subject).message(message, "", ())


class _Columns(Mapping):
    """One walk over one message."""

    def message(self, message: Descriptor, path: str, outer: tuple[str, ...]) -> Struct:
        name = message.full_name
        if name in outer or len(outer) > MAX_DEPTH:
            raise self.refusal(path, f"message {name} contains itself", "Bound the depth in the schema.")
        inner = (*outer, name)
        fields = [self._field(f, path, inner) for f in pb.regular_fields(message)]
        fields += [self._oneof(o, path, inner) for o in pb.oneofs(message)]
        self.check_names([f.name for f in fields], path, name)
        return Struct(tuple(fields))

    def _field(self, field: FieldDescriptor, path: str, outer: tuple[str, ...]) -> Field:
        where = f"{path}.{field.name}".lstrip(".")
        if pb.is_entry(field):
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
        return Map(pb.scalar_type(key), self._single(value, f"{path}{{}}", outer), optional)

    def _single(self, field: FieldDescriptor, path: str, outer: tuple[str, ...]) -> Type:
        if field.message_type is None:
            return pb.scalar_type(field)
        name = field.message_type.full_name
        if name in _NO_COLUMN:
            raise self.refusal(path, f"{name} has no column type", "Use a message with fields, or bytes.")
        if name in pb.WRAPPERS:
            return pb.scalar_type(field.message_type.fields[0])
        if name == pb.DECIMAL:
            return self._decimal(field, path)
        if name in pb.KNOWN:
            return pb.KNOWN[name][0]
        return self.message(field.message_type, path, outer)

    def _decimal(self, field: FieldDescriptor, path: str) -> Decimal:
        todo = 'Write [(confluent.field_meta).params = {key: "precision", value: "18"}, ...] behind it.'
        found = pb.decimal_of(field)
        if found is None:
            raise self.refusal(path, f"{pb.DECIMAL} without precision and scale has no column type", todo)
        return decimal_type(found.precision, found.scale, partial(self.refusal, path))


def _named(messages: Sequence[Descriptor], name: str) -> Descriptor | None:
    for message in messages:
        if message.full_name == name:
            return message
        if name.startswith(f"{message.full_name}."):
            return _named(message.nested_types, name)
    return None
