"""Protobuf descriptors at run time: the registry gives .proto text, and protoc compiles it.

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
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from frazil.errors import SchemaRefusedError
from frazil.formats.protocol import WriterSchema

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FileDescriptor
    from google.protobuf.descriptor_pb2 import FileDescriptorProto


MAIN = "frazil_main.proto"
"""The name under which a schema is compiled; its references go by the names it imports them by."""

_CONFLUENT = Path(__file__).parent / "protos"
"""Files that need no reference; Google's, which need none either, come with libraries."""

_SECONDS = 60.0
_LONGEST_NAME = 255


def compiled(writer: WriterSchema, subject: str) -> bytes:
    """The schema and all that it imports, as a serialized `FileDescriptorSet`; refuses what protoc does."""
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
    message: Descriptor | None = None
    messages = list(file.message_types_by_name.values())
    for index in indexes:
        if not 0 <= index < len(messages):
            return None
        message = messages[index]
        messages = list(message.nested_types)
    return message


@lru_cache(maxsize=512)
def _compile(text: str, dependencies: tuple[tuple[str, str], ...]) -> bytes:
    files = {**dict(dependencies), MAIN: text}
    ready = {name: parsed for name, content in files.items() if (parsed := _serialized(name, content))}
    _refuse_names(name for name, _ in dependencies)
    _refuse_names(name for file in ready.values() for name in file.dependency)
    _refuse_folders({*files, *(name for file in ready.values() for name in file.dependency)})
    texts = {name: content for name, content in files.items() if name not in ready}
    descriptors = _protoc(texts, ready)
    try:
        file_of(descriptors)
    except TypeError as e:  # nobody has looked into what was serialized
        raise ValueError(str(e)) from None
    return descriptors


def _refuse_names(names: Iterable[str]) -> None:
    """Refuses names that are not plain paths: anyone who registers a schema chooses them."""
    for name in names:
        if not isinstance(name, str):  # upb hands out what is no UTF-8 as bytes
            raise ValueError(f"it imports {name!r:.100}, which is no UTF-8")
        size = len(name.encode("utf-8", "surrogatepass"))
        plain = name.isprintable() and not name.startswith(("-", "@")) and not set(name) & set("\\\"'")
        if not plain or size > _LONGEST_NAME or {"", ".", ".."} & set(name.split("/")) or name == MAIN:
            raise ValueError(
                f"it imports {name[:100]!r}, which is no plain relative path: printable, at most "
                f"{_LONGEST_NAME} bytes, no leading - or @, no quote, no backslash, no empty part, no . or .."
            )


def _refuse_folders(names: set[str]) -> None:
    for name in names:
        for folder in map(str, PurePosixPath(name).parents):
            if folder in names:
                raise ValueError(f"it imports {name!r} and {folder!r}, which can't be a file and a folder")


def _protoc(texts: Mapping[str, str], ready: Mapping[str, FileDescriptorProto]) -> bytes:
    """What protoc makes of the schema and of all that it imports."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    with tempfile.TemporaryDirectory(prefix="frazil-proto-") as folder:
        root = Path(folder)
        for name, content in texts.items():
            file = root / "schema" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
        (root / "given").write_bytes(FileDescriptorSet(file=ready.values()).SerializeToString())
        _run_protoc(root)
        return (root / "made").read_bytes()


def _run_protoc(folder: Path) -> None:
    """Runs protoc. Nothing from outside stands on its command line, or where Python imports from."""
    command = [
        *(sys.executable, "-m", "grpc_tools.protoc", "-Ischema", f"-I{_CONFLUENT}"),
        *(f"-I{_folder('grpc_tools') / '_proto'}", f"-Igoogle/type={_folder('google.type')}"),
        *("--descriptor_set_in=given", "--include_imports", "--descriptor_set_out=made", MAIN),
    ]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False, cwd=folder)
    except subprocess.TimeoutExpired:
        raise ValueError(f"protoc was not done with it after {_SECONDS:g} seconds") from None
    if done.returncode:
        raise ValueError(
            _complaint(done.stderr.decode(errors="replace")) or f"protoc ended with {done.returncode}"
        )


def _serialized(name: str, text: str) -> FileDescriptorProto | None:
    """The descriptor that stands there in base64; none where there is .proto text."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.message import DecodeError

    try:
        file = FileDescriptorProto.FromString(base64.b64decode("".join(text.split()), validate=True))
    except (binascii.Error, DecodeError, ValueError):
        return None
    file.name = name
    return file if text.strip() else None


def _folder(package: str) -> Path:
    """Where a package lies that brings files for protoc."""
    spec = find_spec(package)
    assert spec
    assert spec.submodule_search_locations
    return Path(next(iter(spec.submodule_search_locations)))


def _complaint(stderr: str) -> str:
    """What protoc says of the schema, without this machine's paths."""
    lines = [line for line in stderr.splitlines() if re.search(r"\.proto:|error", line)]
    return "; ".join(lines or stderr.split("\n"))[:1000].strip("; ")
