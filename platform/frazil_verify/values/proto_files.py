"""Files of Protobuf as descriptors: by `protoc`, or as they were compiled before."""

from __future__ import annotations

import base64
import binascii
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.message import DecodeError

from frazil_verify.findings import UnverifiableError
from frazil_verify.log.registry import Schema

_SECONDS = 60
_ROOT = "root.proto"

Sources = tuple[tuple[str, str], ...]
"""Texts of `.proto` files, by name."""


def compiled(schema: Schema) -> tuple[descriptor_pool.DescriptorPool, Any]:
    """The types of a schema and what it refers to, and its own file.

    Raises:
        UnverifiableError: protoc refuses it.
    """
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
