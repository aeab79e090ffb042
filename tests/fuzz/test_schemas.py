"""Whoever may register a schema may write anything: it becomes columns, or is refused in words."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from frazil.formats.columns.columns import record_columns, table_fields
from frazil.formats.evolution import verdicts
from frazil.formats.kinds import SCHEMA_FORMATS
from frazil.formats.logical import Struct
from frazil.formats.protobuf import descriptors
from frazil.formats.protocol import VALUE, HalfSchemas, WriterSchema
from frazil.formats.registry.wanted import WantedSchema, differences, read_schema
from frazil.formats.types import arrow_type, as_stored, spark_type, to_iceberg
from frazil.spec.topic import TableSpec
from kit.drawn.foreign_schemas import BROKEN, LAST
from kit.drawn.fuzzing import fuzz
from kit.drawn.mutation import Mutator
from kit.drawn.protoc import ready_protoc

_SPEC = TableSpec(topic="t", key_format="none")
_SUFFIX = {"AVRO": ".avsc", "JSON": ".json", "PROTOBUF": ".proto"}
ALONE = re.compile(
    r'import "other/.*|other\.Shared shared = \d+;|, "default": null|, ' + re.escape(json.dumps(LAST))
)
"""What refers to another file: one beside a pipeline has none; and what Java alone takes as a default."""

Versions = tuple[WriterSchema, ...]


@pytest.fixture
def protoc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One that need not start; it writes into the test's folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with ready_protoc() as run:
        monkeypatch.setattr(descriptors.subprocess, "run", run)
        yield


def versions(kind: str, mutator: Mutator) -> Versions:
    """One to three versions of a subject, each broken in its own way."""
    made = [BROKEN[kind](mutator) for _ in range(mutator.random.choice((1, 1, 2, 3)))]
    return tuple(WriterSchema(n, n, text, kind, (), others) for n, (text, others) in enumerate(made, 1))


def read(known: Versions) -> None:
    """All that Frazil does with a subject before Spark, or any table, hears of it."""
    kind = SCHEMA_FORMATS[known[-1].kind]
    schemas = HalfSchemas(VALUE, kind, "t-value", known)
    columns = table_fields(_SPEC, record_columns(_SPEC, Struct(()), schemas.columns))
    decoder = kind.decoder(schemas)
    struct = Struct(columns)
    to_iceberg(columns).model_dump_json()
    spark_type(struct).encode()
    arrow_type(struct)
    list(verdicts(Struct(as_stored(columns)), Struct(decoder.columns.fields), ()))
    decoder.arrow().decode(pa.array([b""], pa.binary()))
    differences(known[0], WantedSchema(known[-1].kind, known[-1].text))


def test_any_avro_schema_becomes_columns_or_is_refused() -> None:
    assert fuzz("avro schema", lambda m: versions("AVRO", m), read)


def test_any_json_schema_becomes_columns_or_is_refused() -> None:
    assert fuzz("json schema", lambda m: versions("JSON", m), read)


@pytest.mark.usefixtures("protoc")
def test_any_protobuf_schema_becomes_columns_or_is_refused(tmp_path: Path) -> None:
    assert fuzz("protobuf schema", lambda m: versions("PROTOBUF", m), read, writes=(tmp_path,))


@pytest.mark.usefixtures("protoc")
@pytest.mark.parametrize("kind", BROKEN)
def test_any_schema_file_is_read_or_refused(kind: str, tmp_path: Path) -> None:
    file = tmp_path / f"schema{_SUFFIX[kind]}"

    def written(mutator: Mutator) -> bytes:
        text = ALONE.sub("", BROKEN[kind](mutator)[0]).encode("utf-8", "surrogatepass")
        return mutator.raw(text) if mutator.random.random() < 0.1 else text

    def load(given: bytes) -> None:
        file.write_bytes(given)
        read_schema(file)

    assert fuzz(f"{kind} file", written, load, writes=(tmp_path,))
