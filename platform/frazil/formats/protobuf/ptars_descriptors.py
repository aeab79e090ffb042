"""Descriptors as ptars should see them: shapes only, nothing that it would interpret by itself.

ptars cuts timestamps without a check, and reads a damaged map entry otherwise than google.protobuf
does. So well-known types lose their names and map entries their mark: they reach us as structs and
lists of structs, and this house's own rules make values of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from google.protobuf.descriptor import FileDescriptor
    from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto

__all__ = ["shapes_of"]

_OWN = "frazil_shapes"
"""Stands before every package: no message keeps a name that ptars knows."""


def shapes_of(file: FileDescriptor) -> FileDescriptor:
    """The same messages on the wire, in package `frazil_shapes.<package>`."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.descriptor_pool import DescriptorPool

    pool = DescriptorPool()
    for needed in _in_order(file):
        copy = FileDescriptorProto()
        needed.CopyToProto(copy)
        pool.Add(_plain(copy))
    return pool.FindFileByName(file.name)


def _in_order(file: FileDescriptor) -> list[FileDescriptor]:
    found: dict[str, FileDescriptor] = {}
    for needed in file.dependencies:
        found |= {f.name: f for f in _in_order(needed)}
    return [*(f for n, f in found.items() if n != file.name), file]


def _plain(file: FileDescriptorProto) -> FileDescriptorProto:
    file.package = f"{_OWN}.{file.package}".rstrip(".")
    for unneeded in ("options", "extension", "service"):
        file.ClearField(unneeded)
    for message in file.message_type:
        _bare(message, proto3=file.syntax == "proto3")
    for enum in file.enum_type:
        enum.options.ClearField("features")
    return file


def _bare(message: DescriptorProto, proto3: bool) -> None:
    if message.options.map_entry and proto3:
        _with_presence(message)
    message.ClearField("options")
    message.ClearField("extension")
    for inner in message.nested_type:
        _bare(inner, proto3)
    for field in message.field:
        if field.type_name:
            field.type_name = f".{_OWN}{field.type_name}"


def _with_presence(entry: DescriptorProto) -> None:
    """Everybody writes an entry's zeros; without presence they would not be written again."""
    for place, field in enumerate(entry.field):
        field.proto3_optional, field.oneof_index = True, place
        entry.oneof_decl.add(name=f"_{field.name}")
