"""Whoever may register a schema chooses the names of its imports: they run nothing and reach no file."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from frazil.errors import SchemaRefusedError
from frazil.formats.protobuf import descriptors
from frazil.formats.protobuf.descriptors import compiled, file_of
from frazil.formats.protocol import WriterSchema


@pytest.fixture(autouse=True)
def as_users_start_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """protoc in a process of its own: which folders it and Python read from is what these tests are about."""
    monkeypatch.setattr(descriptors, "subprocess", subprocess)


TEXT = 'syntax = "proto3"; message M { string a = 1; }'
HOSTILE = [
    "",
    "-",
    "-I/etc",
    "--version",
    "@arguments",
    "/etc/passwd",
    "../outside.proto",
    "a/../b.proto",
    "a/./b.proto",
    "a//b.proto",
    "a/",
    "a\\b.proto",
    "a\0b.proto",
    "a\nb.proto",
    'a".proto',
    "a'.proto",
    "a\udc80.proto",
    f"{'a' * 300}.proto",
    "/".join(["a"] * 3000),
    "frazil_main.proto",
    "frazil_main.proto/a.proto",
]


def serialized(*imports: str) -> str:
    """What Python clients register: a descriptor in base64."""
    return base64.b64encode(
        FileDescriptorProto(name="m.proto", dependency=imports).SerializeToString()
    ).decode()


def refusal(text: str, *references: tuple[str, str]) -> str:
    with pytest.raises(SchemaRefusedError) as refused:
        compiled(WriterSchema(7, 1, text, "PROTOBUF", (), references), "orders-value")
    assert "subject orders-value, schema id 7: " in refused.value.where
    return refused.value.where


def test_an_import_of_a_serialized_schema_is_no_option_of_the_compiler(tmp_path: Path) -> None:
    marker, script = tmp_path / "marker", tmp_path / "script"
    script.write_text(f"#!/bin/sh\necho ran > {marker}\n")
    script.chmod(0o755)
    imports = (f"--plugin=protoc-gen-x={script}", f"--x_out={tmp_path}", "google/protobuf/empty.proto")

    where = refusal(serialized(*imports))

    assert not marker.exists()
    assert "--plugin=protoc-gen-x" in where


def test_a_reference_that_is_named_like_a_module_of_the_compiler_is_not_run(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    references = (
        ("grpc_tools/__init__.py", ""),
        ("grpc_tools/protoc.py", f"open({str(marker)!r}, 'w').close()"),
    )

    compiled_schema = compiled(WriterSchema(7, 1, TEXT, "PROTOBUF", (), references), "orders-value")

    assert not marker.exists()
    assert "M" in file_of(compiled_schema).message_types_by_name


@pytest.mark.parametrize("name", HOSTILE)
def test_a_reference_needs_a_plain_relative_name(name: str) -> None:
    assert f"{name[:50]!r}"[:-1] in refusal(TEXT, (name, TEXT))


@pytest.mark.parametrize("name", [name for name in HOSTILE if name.isprintable() or name.isascii()])
def test_an_import_of_a_serialized_schema_needs_a_plain_relative_name(name: str) -> None:
    assert f"{name[:50]!r}"[:-1] in refusal(serialized(name))


def test_a_reference_can_not_be_the_folder_of_another() -> None:
    where = refusal(TEXT, ("a.proto", TEXT), ("a.proto/b.proto", TEXT))

    assert "'a.proto/b.proto'" in where


def test_a_reference_may_have_any_plain_name() -> None:
    names = ("a b/c.proto", "ä.proto", "v1.2/x@y+z.proto", "a/-b.proto", ".ready", ".out")
    texts = [(name, f'syntax = "proto3"; message M{n} {{}}') for n, name in enumerate(names)]
    main = "".join(f'import "{name}";' for name in names) + "message M { M0 a = 1; M5 b = 2; }"

    compiled_schema = compiled(
        WriterSchema(7, 1, f'syntax = "proto3"; {main}', "PROTOBUF", (), tuple(texts)), "orders-value"
    )

    assert {file.name for file in file_of(compiled_schema).dependencies} == set(names)


def test_a_compiler_that_takes_too_long_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptors, "_SECONDS", 0.001)

    assert "0.001" in refusal('syntax = "proto3"; message Long {}')
