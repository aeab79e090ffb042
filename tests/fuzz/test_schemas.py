"""Whoever may register a schema may write anything: it becomes columns, or is refused in words."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from frazil.formats.columns import record_columns, table_fields
from frazil.formats.evolution import verdicts
from frazil.formats.json.checks import JsonSql
from frazil.formats.json.schema import json_node
from frazil.formats.kinds import SCHEMA_FORMATS
from frazil.formats.logical import Struct
from frazil.formats.protobuf import descriptors
from frazil.formats.protocol import VALUE, HalfSchemas, WriterSchema
from frazil.formats.registry import WantedSchema, differences, read_schema
from frazil.formats.types import arrow_type, as_stored, spark_type, to_iceberg
from frazil.spec.topic import TableSpec
from kit.foreign_schemas import BROKEN
from kit.fuzzing import fuzz
from kit.mutation import Mutator

_SPEC = TableSpec(topic="t", key_format="none")
_SUFFIX = {"AVRO": ".avsc", "JSON": ".json", "PROTOBUF": ".proto"}
_SECONDS = 60
_COMPILED = 0.1
"""Of all inputs: protoc takes 50 ms for each."""

ALONE = re.compile(r'import "other/.*|other\.Shared shared = \d+;')
"""What refers to another file: one beside a pipeline stands alone."""

Versions = tuple[WriterSchema, ...]


def versions(kind: str, mutator: Mutator) -> Versions:
    """One to three versions of a subject, each broken in its own way."""
    made = [BROKEN[kind](mutator) for _ in range(mutator.random.choice((1, 1, 2, 3)))]
    return tuple(WriterSchema(n, n, text, kind, (), others) for n, (text, others) in enumerate(made, 1))


def read(found: Versions) -> None:
    """All that Frazil does with a subject before Spark, or any table, hears of it."""
    kind = SCHEMA_FORMATS[found[-1].kind]
    schemas = HalfSchemas(VALUE, kind, "t-value", found)
    columns = table_fields(_SPEC, record_columns(_SPEC, Struct(()), schemas.columns))
    decoder = kind.decoder(schemas)
    struct = Struct(columns)
    to_iceberg(columns)
    spark_type(struct)
    arrow_type(struct)
    list(verdicts(Struct(as_stored(columns)), Struct(decoder.columns.fields), ()))
    if found[-1].kind == "JSON":
        node = json_node(found[-1].text, found[-1].dependencies, "t-value")
        JsonSql("x").check(node, "x")
    differences(found[0], WantedSchema(found[-1].kind, found[-1].text))


def test_any_avro_schema_becomes_columns_or_is_refused() -> None:
    assert fuzz("avro schema", lambda m: versions("AVRO", m), read)


def test_any_json_schema_becomes_columns_or_is_refused() -> None:
    assert fuzz("json schema", lambda m: versions("JSON", m), read)


def test_any_protobuf_schema_becomes_columns_or_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(descriptors.subprocess, "run", forked)
    assert fuzz("protobuf schema", lambda m: versions("PROTOBUF", m), read, _COMPILED, (tmp_path,))


@pytest.mark.parametrize("kind", BROKEN)
def test_any_schema_file_is_read_or_refused(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(descriptors.subprocess, "run", forked)
    file = tmp_path / f"schema{_SUFFIX[kind]}"

    def written(mutator: Mutator) -> bytes:
        text = ALONE.sub("", BROKEN[kind](mutator)[0]).encode("utf-8", "surrogatepass")
        return mutator.raw(text) if mutator.random.random() < 0.1 else text

    def load(given: bytes) -> None:
        file.write_bytes(given)
        read_schema(file)

    assert fuzz(f"{kind} file", written, load, _COMPILED if kind == "PROTOBUF" else 1, (tmp_path,))


def forked(command: Sequence[str], *, cwd: Path, **_: Any) -> subprocess.CompletedProcess[bytes]:
    """What `subprocess.run` does with protoc, but in a fork of this process: Python takes 200 ms to start."""
    from grpc_tools import protoc

    assert list(command[:3]) == [sys.executable, "-m", "grpc_tools.protoc"]
    with tempfile.TemporaryFile() as told:
        child = os.fork()
        if not child:
            resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
            os.dup2(told.fileno(), 2)
            os.chdir(cwd)
            os._exit(protoc.main(["protoc", *command[3:]]))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        told.seek(0)
        return subprocess.CompletedProcess(command, code, b"", told.read())
