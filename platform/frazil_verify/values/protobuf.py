"""Protobuf as canonical values, by google.protobuf's own messages. Source: docs/types.md."""

from __future__ import annotations

import base64
import binascii
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message

from frazil_verify.findings import UnverifiableError
from frazil_verify.log.registry import Schema
from frazil_verify.table.canonical import number, sorted_pairs
from frazil_verify.table.metadata import columns_of
from frazil_verify.values.bad import BadRecordError, NotComparedError

Convert = Callable[[Any], Any]
_SECONDS = 60
_ROOT = "root.proto"
_EPOCH = date(1970, 1, 1).toordinal()


class ProtobufReader:
    """Reads records of one `.proto` file as values of wanted fields.

    Args:
        writer: The schema that the records were written with.
        wanted: A type `struct` of Iceberg.
        record_type: Full name of the message where no index is written.
    """

    def __init__(self, writer: Schema, wanted: Mapping[str, Any], record_type: str) -> None:
        self._pool, self._file = _compiled(writer)
        self._wanted, self._type = wanted, record_type
        self._takes: dict[str, tuple[type[Message], Convert]] = {}

    def check(self) -> None:
        """Raises NotComparedError where a wanted field is made in a way that this verifier does not know."""
        messages = self._file.message_types_by_name.values()
        for message in messages if not self._type else [m for m in messages if m.full_name == self._type]:
            _message(message, self._wanted)

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
            kind = message_factory.GetMessageClass(descriptor)
            self._takes[name] = kind, _message(descriptor, self._wanted)
        kind, convert = self._takes[name]
        try:
            values: tuple[Any, ...] = convert(kind.FromString(payload))
        except DecodeError as e:
            raise BadRecordError(str(e)) from e
        return values


def field_names(schema: Schema) -> frozenset[str]:
    """The fields of the file's messages, and its oneofs."""
    _, file = _compiled(schema)
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


Sources = tuple[tuple[str, str], ...]
"""Texts of `.proto` files, by name."""


def _compiled(schema: Schema) -> tuple[descriptor_pool.DescriptorPool, Any]:
    return _compiled_text(schema.text, tuple(_references(schema)))


@lru_cache(64)
def _compiled_text(text: str, references: Sources) -> tuple[descriptor_pool.DescriptorPool, Any]:
    files = _file_set(text, references)
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return pool, pool.FindFileByName(files.file[-1].name)


def _references(schema: Schema) -> Iterator[tuple[str, str]]:
    for name, reference in schema.references.items():
        yield name, reference.text
        yield from _references(reference)


def _file_set(text: str, references: Sources) -> descriptor_pb2.FileDescriptorSet:
    try:
        file = descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (binascii.Error, DecodeError):
        return _protoc(text, references)
    if file.dependency:
        raise UnverifiableError("a compiled schema that imports others")
    return descriptor_pb2.FileDescriptorSet(file=[file])


def _protoc(text: str, references: Sources) -> descriptor_pb2.FileDescriptorSet:
    with tempfile.TemporaryDirectory() as folder:
        _write(references, Path(folder))
        (Path(folder) / _ROOT).write_text(text, encoding="utf-8")
        out = Path(folder) / "set"
        arguments = ["-I", folder, *_includes(), "--include_imports", f"--descriptor_set_out={out}", _ROOT]
        done = subprocess.run(
            [sys.executable, "-m", "grpc_tools.protoc", *arguments],
            capture_output=True, timeout=_SECONDS, check=False, cwd=folder,
        )  # fmt: skip
        if done.returncode:
            raise UnverifiableError("protoc refuses a schema of the topic")
        return descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes())


def _write(references: Sources, folder: Path) -> None:
    for name, text in references:
        file = (folder / name).resolve()
        if not file.is_relative_to(folder.resolve()):
            raise UnverifiableError("a reference leaves its folder")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def _includes() -> list[str]:
    folders = []
    for package, inner in (("grpc_tools", "_proto"), ("google.type", "../..")):
        spec = find_spec(package)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            folders += ["-I", str((Path(place) / inner).resolve())]
    return folders


def _message(descriptor: Descriptor, want: Any) -> Convert:
    if not (isinstance(want, Mapping) and want["type"] == "struct"):
        return _known(descriptor, want)
    takes = [_taken(descriptor, column.name, column.type) for column in columns_of(want)]
    return lambda message: tuple(take(message) for take in takes)


def _taken(descriptor: Descriptor, name: str, want: Any) -> Convert:
    oneofs = {each.name: each for each in descriptor.oneofs}
    if name in oneofs and name not in descriptor.fields_by_name:
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
    if want["type"] == "list":
        convert = _value(field, want["element"])
        return lambda m: tuple(convert(each) for each in getattr(m, name))
    entry = field.message_type
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
        return _long
    return lambda value: value


def _known(descriptor: Descriptor, want: Any) -> Convert:
    name = descriptor.full_name
    if name == "google.protobuf.Timestamp":
        return lambda m: _instant(m.seconds, m.nanos)
    if name == "google.protobuf.Duration":
        return lambda m: _long(m.seconds * 1_000_000 + int(m.nanos / 1000))
    if name == "google.type.Date":
        return lambda m: _day(m.year, m.month, m.day)
    if name == "google.type.TimeOfDay":
        return lambda m: ((m.hours * 60 + m.minutes) * 60 + m.seconds) * 1_000_000 + m.nanos // 1000
    if name.startswith("google.protobuf.") and name.endswith("Value"):
        return _value_of_wrapper(descriptor, want)
    raise NotComparedError(f"{name} as {want}")


def _value_of_wrapper(descriptor: Descriptor, want: Any) -> Convert:
    inner = _value(descriptor.fields_by_name["value"], want)
    return lambda m: inner(m.value)


def _instant(seconds: int, nanos: int) -> int:
    if not (-62135596800 <= seconds <= 253402300799 and 0 <= nanos < 1_000_000_000):
        raise BadRecordError("a timestamp outside the years 1 to 9999")
    return seconds * 1_000_000 + nanos // 1000


def _day(year: int, month: int, day: int) -> int:
    try:
        return date(year, month, day).toordinal() - _EPOCH
    except ValueError as e:
        raise BadRecordError(f"a date that no calendar has: {e}") from e


def _long(value: int) -> int:
    if not -(2**63) <= value < 2**63:
        raise BadRecordError("a number beyond 63 bits")
    return value
