"""Protobuf classes made at run time from .proto text, as a producer would have them generated.

By protoc in this process, and by nothing of the engine's.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_tools import protoc

from frazil.formats.protocol import WriterSchema

__all__ = ["compiled_file", "framed", "message_class", "proto"]

_MAIN = "main.proto"
_KNOWN = (files("grpc_tools") / "_proto", files("frazil.formats.protobuf") / "protos")
"""Google's files, and Confluent's as they publish them."""
_TYPES = f"google/type={Path(str(files('google.type') / 'date.proto')).parent}"


def proto(text: str, schema_id: int = 1, **dependencies: str) -> WriterSchema:
    """A schema as the registry would give it."""
    return WriterSchema(schema_id, 1, text, "PROTOBUF", (), tuple(dependencies.items()))


def compiled_file(text: str, imported: Mapping[str, str]) -> FileDescriptor:
    """A schema, in a pool of its own: two versions define the same names."""
    with TemporaryDirectory() as made:
        folder = Path(made)
        for name, each in {**imported, _MAIN: text}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(each)
        paths = [f"-I{path}" for path in (folder, *_KNOWN, _TYPES)]
        arguments = [*paths, "--include_imports", f"--descriptor_set_out={folder / 'set'}", _MAIN]
        assert protoc.main(["protoc", *arguments]) == 0, text
        file_set = FileDescriptorSet.FromString((folder / "set").read_bytes())
    pool = DescriptorPool()
    for file in file_set.file:
        pool.Add(file)
    return pool.FindFileByName(_MAIN)


@cache
def message_class(text: str, name: str) -> Any:
    """The class of a message, by its full name."""
    return GetMessageClass(compiled_file(text, {}).pool.FindMessageTypeByName(name))


def framed(schema_id: int, payload: bytes, indexes: bytes = b"\0") -> bytes:
    """A payload in the wire format; indexes as they stand there."""
    return b"\0" + schema_id.to_bytes(4, "big") + indexes + payload
