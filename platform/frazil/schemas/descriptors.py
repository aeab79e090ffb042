"""Protobuf descriptors at run time: the registry gives .proto text, a child's protoc compiles it.

What Python and Go clients register is no text but a serialized descriptor in base64: that goes to
protoc as it is, for whatever it imports.
"""

from __future__ import annotations

import base64
import binascii
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from frazil.errors import SchemaRefusedError

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FileDescriptor
    from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

    from frazil.schemas.registry import WriterSchema  # its clients are too heavy for Spark's workers

__all__ = ["MAIN", "compiled", "file_of", "message_at"]

MAIN = "frazil_main.proto"
"""The name under which a schema is compiled; its references go by the names it imports them by."""

_KNOWN = Path(__file__).parent / "protos"
"""What registries let schemas import without a reference; Google's own types come with protoc."""

_SECONDS = 60.0


def compiled(writer: WriterSchema, subject: str) -> bytes:
    """The schema and all that it imports, as a serialized `FileDescriptorSet`.

    Args:
        writer: A Protobuf schema, with the texts of its dependencies.
        subject: Named in errors.

    Raises:
        SchemaRefusedError: protoc refuses it; the text is protoc's.
    """
    try:
        return _compile(writer.text, writer.dependencies)
    except ValueError as e:
        raise SchemaRefusedError(
            "The schema can't become a table: protoc refuses it.",
            where=f"subject {subject}, schema id {writer.schema_id}: {e}",
            meaning="Nothing was landed.",
            todo="Register a schema that compiles, with a reference for each file that it imports.",
        ) from None


def file_of(descriptors: bytes) -> FileDescriptor:
    """The schema's own file, in a pool of its own: two versions define the same names."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from google.protobuf.descriptor_pool import DescriptorPool

    pool = DescriptorPool()
    for file in FileDescriptorSet.FromString(descriptors).file:
        pool.Add(file)
    return pool.FindFileByName(MAIN)


def message_at(file: FileDescriptor, indexes: tuple[int, ...]) -> Descriptor | None:
    """The message that a record's header points to: by place in the file, then within the message."""
    found: Descriptor | None = None
    messages = list(file.message_types_by_name.values())
    for index in indexes:
        if not 0 <= index < len(messages):
            return None
        found = messages[index]
        messages = list(found.nested_types)
    return found


@lru_cache(maxsize=512)
def _compile(text: str, dependencies: tuple[tuple[str, str], ...]) -> bytes:
    files = {**dict(dependencies), MAIN: text}
    ready = {name: found for name, content in files.items() if (found := _serialized(name, content))}
    texts = {name: content for name, content in files.items() if name not in ready}
    wanted = list(ready[MAIN].dependency) if MAIN in ready else [MAIN]
    found = _protoc(texts, ready, wanted)
    if MAIN in ready:
        found.file.append(ready[MAIN])
    descriptors: bytes = found.SerializeToString()
    try:
        file_of(descriptors)
    except TypeError as e:  # nobody has looked into what was serialized
        raise ValueError(str(e)) from None
    return descriptors


def _protoc(
    texts: Mapping[str, str], ready: Mapping[str, FileDescriptorProto], wanted: Sequence[str]
) -> FileDescriptorSet:
    """What protoc makes of the wanted files and of all that they import."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    if not wanted:
        return FileDescriptorSet()
    with tempfile.TemporaryDirectory(prefix="frazil-proto-") as folder:
        root = Path(folder)
        for name, content in texts.items():
            _write(root, name, content)
        (root / ".ready").write_bytes(FileDescriptorSet(file=ready.values()).SerializeToString())
        done = subprocess.run(
            [sys.executable, "-m", "grpc_tools.protoc", "-I.", f"-I{_KNOWN}", f"-I{_google()}",
             "--descriptor_set_in=.ready", "--include_imports", "--descriptor_set_out=.out", *wanted],
            capture_output=True, text=True, timeout=_SECONDS, check=False, cwd=root,
        )  # fmt: skip
        if done.returncode:
            raise ValueError(_told(done.stderr))
        return FileDescriptorSet.FromString((root / ".out").read_bytes())


def _serialized(name: str, text: str) -> FileDescriptorProto | None:
    """The descriptor that stands there in base64; none where there is .proto text."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.message import DecodeError

    try:
        found = FileDescriptorProto.FromString(base64.b64decode("".join(text.split()), validate=True))
    except (binascii.Error, DecodeError, ValueError):
        return None
    found.name = name
    return found if text.strip() else None


def _write(root: Path, name: str, text: str) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"it imports {name}, which is no relative path")
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _google() -> Path:
    import grpc_tools

    return Path(grpc_tools.__path__[0]) / "_proto"


def _told(stderr: str) -> str:
    """What protoc says of the schema, without this machine's paths."""
    lines = [line for line in stderr.splitlines() if re.search(r"\.proto:|error", line)]
    return "; ".join(lines or stderr.split("\n"))[:1000].strip("; ")
