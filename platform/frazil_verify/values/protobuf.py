"""Protobuf as canonical values, by google.protobuf's own messages. Source: docs/types.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date
from typing import Any

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor, OneofDescriptor
from google.protobuf.message import DecodeError, Message

from frazil_verify.log.registry import Schema
from frazil_verify.table.canonical import number, sorted_pairs
from frazil_verify.table.metadata import columns_of
from frazil_verify.values.bad import BadRecordError, NotComparedError
from frazil_verify.values.proto_files import compiled
from frazil_verify.values.width import check_width, is_large, widest

Convert = Callable[[Any], Any]
_WHOLE = (FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_INT64, FieldDescriptor.CPPTYPE_UINT32)
_WRAPPED = ("Bool", "Int32", "Int64", "UInt32", "UInt64", "Float", "Double", "String", "Bytes")
_WRAPPERS = {f"google.protobuf.{kind}Value" for kind in _WRAPPED}
_EPOCH = date(1970, 1, 1).toordinal()


class ProtobufReader:
    """Reads records of one `.proto` file as values of wanted fields.

    Args:
        writer: The schema that the records were written with.
        newest: The one that says what the columns are.
        wanted: A type `struct` of Iceberg.
        record_type: Full name of the message where no index is written.
    """

    def __init__(self, writer: Schema, newest: Schema, wanted: Mapping[str, Any], record_type: str) -> None:
        self._file = compiled(writer)[1]
        self._writer, self._newest = writer, newest
        self._wanted, self._type = wanted, record_type
        self._widest = widest(wanted)
        self._takes: dict[str, tuple[type[Message], Convert]] = {}

    def check(self) -> None:
        """Raises NotComparedError where a wanted field is made in a way that this verifier does not know."""
        with suppress(_NoFieldsError):
            _message(record_of(self._writer, self._type), self._wanted)

    def __call__(self, payload: bytes) -> tuple[Any, ...]:
        """The values of the wanted fields, in order; the message indexes stand before the payload.

        Raises:
            BadRecordError: The bytes are no such message.
        """
        path, rest = indexes(payload)
        return self._read(self._message(path), rest)

    def bare(self, payload: bytes) -> tuple[Any, ...]:
        """The same of a payload without indexes."""
        return self._read(self._message([0]), payload)

    def _message(self, path: list[int]) -> Descriptor:
        part: Any = self._file
        try:
            for at, index in enumerate(path):
                part = (part.nested_types if at else list(part.message_types_by_name.values()))[index]
        except IndexError:
            raise BadRecordError("message indexes that the schema does not have") from None
        if self._type and part.full_name != self._type:
            raise BadRecordError(f"another message: {part.full_name}")
        descriptor: Descriptor = part
        return descriptor

    def _read(self, descriptor: Descriptor, payload: bytes) -> tuple[Any, ...]:
        name = descriptor.full_name
        if name not in self._takes:
            self._takes[name] = self._made(descriptor)
        kind, convert = self._takes[name]
        try:
            message = kind.FromString(payload)
        except DecodeError as e:
            raise BadRecordError(str(e)) from e
        if is_large(payload, self._widest):
            check_width(message, self._wanted, len(payload))
        values: tuple[Any, ...] = convert(message)
        return values

    def _made(self, descriptor: Descriptor) -> tuple[type[Message], Convert]:
        """A message without fields that the table has some of is read by the newest version.

        Source: docs/evolution.md, "Records that were written before".
        """
        try:
            return message_factory.GetMessageClass(descriptor), _message(descriptor, self._wanted)
        except _NoFieldsError:
            newest = _by_name(compiled(self._newest)[0], descriptor.full_name)
            _check_kept(descriptor, newest, set())
            return message_factory.GetMessageClass(newest), _message(newest, self._wanted)
        except NotComparedError as e:
            if descriptor.full_name == record_of(self._writer, self._type).full_name:
                raise
            raise BadRecordError(f"another message: {descriptor.full_name}, {e}") from e


class _NoFieldsError(NotComparedError):
    """A message has no fields where the table has."""


def _by_name(pool: descriptor_pool.DescriptorPool, name: str) -> Descriptor:
    try:
        return pool.FindMessageTypeByName(name)
    except KeyError:
        raise BadRecordError(f"the newest version has no message {name}") from None


def _check_kept(older: Descriptor, newest: Descriptor, seen: set[str]) -> None:
    """Raises BadRecordError where a field of a message has another number, name or type than it had."""
    seen.add(older.full_name)
    for field in older.fields:
        now = newest.fields_by_name.get(field.name)
        if now is None or (now.number, now.type) != (field.number, field.type):
            raise BadRecordError(f"field {field.name} is another one in the newest version")
        if field.message_type is not None and field.message_type.full_name not in seen:
            _check_kept(field.message_type, now.message_type, seen)


def record_of(schema: Schema, record_type: str) -> Descriptor:
    """The message of a subject's records: the named one, else the file's first."""
    pool, file = compiled(schema)
    messages = list(file.message_types_by_name.values())
    with suppress(KeyError):
        return pool.FindMessageTypeByName(record_type) if record_type else messages[0]
    return messages[0]


def parts(node: Any) -> Mapping[str, Any]:
    """The fields and oneofs of a message, the element of a list, the value of a map, or a oneof's fields."""
    if isinstance(node, OneofDescriptor):
        return {each.name: each for each in node.fields}
    if isinstance(node, FieldDescriptor) and node.is_repeated:
        return {"element": node.message_type, "value": node.message_type and _item(node.message_type)}
    message = node.message_type if isinstance(node, FieldDescriptor) else node
    return {each.name: each for each in (*message.oneofs, *message.fields)} if message else {}


def _item(entry: Descriptor) -> Descriptor | None:
    """The message that a map's entry holds."""
    value = entry.fields_by_name.get("value")
    return value.message_type if value else None


def field_names(schema: Schema) -> frozenset[str]:
    """The fields of the file's messages, and its oneofs."""
    _, file = compiled(schema)
    messages = file.message_types_by_name.values()
    return frozenset(f.name for m in messages for f in (*m.fields, *m.oneofs))


def indexes(payload: bytes) -> tuple[list[int], bytes]:
    """The path to the message within the file, and what follows it. Source: Confluent's wire format."""
    count, at = _zigzag(payload, 0)
    path = [0] if count == 0 else []
    if not 0 <= count <= 64:
        raise BadRecordError("message indexes without an end")
    for _ in range(count):
        index, at = _zigzag(payload, at)
        if index < 0:
            raise BadRecordError("a message index below zero")
        path.append(index)
    return path, payload[at:]


def only_indexes(header: bytes) -> bytes:
    """The message indexes that a header begins with, as they are written; raises BadRecordError for none."""
    _, rest = indexes(header)
    return header[: len(header) - len(rest)]


def _zigzag(payload: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(payload) or shift > 63:
            raise BadRecordError("message indexes without an end")
        byte = payload[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return (value >> 1) ^ -(value & 1), at


def _message(descriptor: Descriptor, want: Any) -> Convert:
    if not (isinstance(want, Mapping) and want["type"] == "struct"):
        return _known(descriptor, want)
    if not descriptor.fields:
        raise _NoFieldsError(descriptor.full_name)
    takes = [_taken(descriptor, column.name, column.type) for column in columns_of(want)]
    return lambda message: tuple(take(message) for take in takes)


def _taken(descriptor: Descriptor, name: str, want: Any) -> Convert:
    oneofs = {each.name: each for each in descriptor.oneofs}
    if name in oneofs and name not in descriptor.fields_by_name:
        if not isinstance(want, Mapping):
            raise NotComparedError(f"a oneof as {want}")
        takes = [_taken(descriptor, c.name, c.type) for c in columns_of(want)]
        return lambda m: tuple(t(m) for t in takes) if m.WhichOneof(name) else None
    field = descriptor.fields_by_name.get(name)
    if field is None:
        return lambda _: None
    if field.is_repeated:
        return _repeated(field, want)
    convert = _value(field, want)
    if not field.has_presence:
        return lambda m: convert(getattr(m, name))
    return lambda m: convert(getattr(m, name)) if m.HasField(name) else None


def _repeated(field: FieldDescriptor, want: Any) -> Convert:
    name = field.name
    if not isinstance(want, Mapping):
        raise NotComparedError(f"a repeated field as {want}")
    if want["type"] == "list":
        convert = _value(field, want["element"])
        return lambda m: tuple(convert(each) for each in getattr(m, name))
    entry = field.message_type
    if want["type"] != "map" or entry is None:
        raise NotComparedError(f"a repeated field as {want['type']}")
    key = _value(entry.fields_by_name["key"], want["key"])
    value = _value(entry.fields_by_name["value"], want["value"])
    if entry.GetOptions().map_entry:
        return lambda m: sorted_pairs({key(k): value(v) for k, v in getattr(m, name).items()})
    return lambda m: sorted_pairs({key(e.key): value(e.value) for e in getattr(m, name)})


def _value(field: FieldDescriptor, want: Any) -> Convert:
    if field.type in (FieldDescriptor.TYPE_MESSAGE, FieldDescriptor.TYPE_GROUP):
        return _message(field.message_type, want)
    if field.type == FieldDescriptor.TYPE_ENUM:
        words = field.enum_type.values_by_number
        return lambda value: words[value].name if value in words else str(value)
    if field.type in (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE):
        return number
    if field.type in (FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64):
        return _long if want != "string" else lambda value: str(_long(value))
    if want == "string" and field.cpp_type in _WHOLE:
        return str
    return lambda value: value


def _known(descriptor: Descriptor, want: Any) -> Convert:
    name = descriptor.full_name
    if name == "google.protobuf.Timestamp":
        return lambda m: _instant(m.seconds, m.nanos)
    if name == "google.protobuf.Duration":
        return lambda m: _span(m.seconds, m.nanos)
    if name == "google.type.Date":
        return lambda m: _day(m.year, m.month, m.day)
    if name == "google.type.TimeOfDay":
        return lambda m: ((m.hours * 60 + m.minutes) * 60 + m.seconds) * 1_000_000 + m.nanos // 1000
    if name in _WRAPPERS:
        return _value_of_wrapper(descriptor, want)
    raise NotComparedError(f"{name} as {want}")


def _value_of_wrapper(descriptor: Descriptor, want: Any) -> Convert:
    inner = _value(descriptor.fields_by_name["value"], want)
    return lambda m: inner(m.value)


def _instant(seconds: int, nanos: int) -> int:
    if not (-62135596800 <= seconds <= 253402300799 and 0 <= nanos < 1_000_000_000):
        raise BadRecordError("a timestamp outside the years 1 to 9999")
    return seconds * 1_000_000 + nanos // 1000


def _span(seconds: int, nanos: int) -> int:
    """Microseconds. Source: google/protobuf/duration.proto."""
    agree = seconds == 0 or nanos == 0 or (seconds < 0) == (nanos < 0)
    if abs(seconds) > 315_576_000_000 or abs(nanos) >= 1_000_000_000 or not agree:
        raise BadRecordError("seconds and nanoseconds that are no duration")
    return seconds * 1_000_000 + int(nanos / 1000)


def _day(year: int, month: int, day: int) -> int:
    try:
        return date(year, month, day).toordinal() - _EPOCH
    except ValueError as e:
        raise BadRecordError(f"a date that no calendar has: {e}") from e


def _long(value: int) -> int:
    if not -(2**63) <= value < 2**63:
        raise BadRecordError("a number beyond 63 bits")
    return value
