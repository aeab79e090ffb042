"""What is no schema at all is refused with its field; the tests in tests/fuzz found each of these."""

from __future__ import annotations

import base64
import json
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from frazil.errors import SchemaRefusedError, SpecError
from frazil.formats.json.format import Json, JsonDecoder
from frazil.formats.kinds import SCHEMA_FORMATS
from frazil.formats.protocol import VALUE, HalfSchemas, WriterSchema
from frazil.formats.registry.wanted import WantedSchema, differences, read_schema
from frazil.formats.types import to_iceberg
from kit.pages.followed import followed

DEEP = "[" * 10_000

pytestmark = pytest.mark.usefixtures("garbage_waits")
INT = {"name": "a", "type": "int"}
EMPTY = {"type": "fixed", "name": "F", "size": 0}


def record(*fields: Any, **more: Any) -> str:
    return json.dumps({"type": "record", "name": "n.R", "fields": [*fields], **more})


def obj(**properties: Any) -> str:
    return json.dumps({"type": "object", "properties": properties})


def refusal(kind: str, text: str, *dependencies: tuple[str, str]) -> str:
    schemas = HalfSchemas(
        VALUE, SCHEMA_FORMATS[kind], "t-value", (WriterSchema(1, 1, text, kind, (), dependencies),)
    )
    with pytest.raises(SchemaRefusedError) as by_columns:
        _ = schemas.columns
    with pytest.raises(SchemaRefusedError):
        schemas.format.decoder(schemas)
    followed(schemas)
    return by_columns.value.where


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (DEEP, "(root)"),
        ('{"type":' * 10_000, "(root)"),
        (record({"name": "a", "type": [["int"], "null"]}), "a"),
        (record({"name": "a", "type": {"type": "enum", "name": "E", "symbols": "AB"}}), "a"),
        (record({"name": "a", "type": {"type": "enum", "name": "E", "symbols": [{}]}}), "a"),
        (record({"name": "a", "type": {"type": "enum", "name": "E", "symbols": ["A", "A"]}}), "a"),
        (record({"name": "a", "type": {"type": "fixed", "name": "F", "size": -1}}), "a"),
        (record({"name": "a", "type": {"type": "fixed", "name": "F", "size": "4"}}), "a"),
        (record({"name": "a", "type": {"type": "bytes", "logicalType": "decimal", "precision": "9"}}), "a"),
        (record({"name": "a", "type": {"type": "bytes", "logicalType": "decimal", "precision": 1e999}}), "a"),
        (record({"name": "a", "type": {"type": "bytes", "logicalType": "decimal", "scale": None}}), "a"),
        (record({"name": "a", "type": {**EMPTY, "logicalType": "decimal"}}), "a"),
        (record({"name": "a", "type": ["int", "string"], "confluent:union": 7}), "a"),
        (record(INT, namespace=["n"]), "(root)"),
        (record({"name": "a", "type": [{**EMPTY, "name": "n\ud800.F", "size": 1}, "int"]}), "a"),
    ],
)
def test_what_is_no_avro_schema_is_refused_with_its_field(text: str, field: str) -> None:
    assert f"field {field}" in refusal("AVRO", text)


@pytest.mark.parametrize("kind", ["AVRO", "JSON"])
@pytest.mark.parametrize("levels", [100, 250, 990])
def test_a_schema_that_is_nested_too_deeply_is_told_its_bound(kind: str, levels: int) -> None:
    text = record({"name": "a", "type": "~"}) if kind == "AVRO" else obj(a="~")
    deep = '{"type": "array", "items": ' * levels + '{"type": "string"}' + "}" * levels
    schemas = HalfSchemas(
        VALUE, SCHEMA_FORMATS[kind], "t-value", (WriterSchema(1, 1, text.replace('"~"', deep), kind),)
    )

    with pytest.raises(SchemaRefusedError, match="64 levels"):
        _ = schemas.columns


def test_notes_of_another_type_are_no_part_of_an_avro_schema() -> None:
    text = record({**INT, "doc": ["x"]}, {"name": "b", "type": {"type": "long", "logicalType": ["date"]}})
    schemas = HalfSchemas(VALUE, SCHEMA_FORMATS["AVRO"], "t-value", (WriterSchema(1, 1, text, "AVRO"),))

    assert str(schemas.format.decoder(schemas).columns) == "struct<a: int, b: long>"


def test_a_logical_type_of_another_type_is_no_part_of_an_avro_schema() -> None:
    number = record({"name": "a", "type": {"type": "long", "logicalType": "decimal", "precision": 9}})
    versions = tuple(WriterSchema(n, n, number, "AVRO") for n in (1, 2))
    schemas = HalfSchemas(VALUE, SCHEMA_FORMATS["AVRO"], "t-value", versions)

    assert str(schemas.format.decoder(schemas).columns) == "struct<a: long>"


@pytest.mark.parametrize(("doc", "kept"), [("half \ud800", "half ?"), ("whole \U0001f68b",) * 2, (7, "")])
def test_what_a_schema_says_of_a_field_can_be_written(doc: Any, kept: str) -> None:
    texts = {"AVRO": record({**INT, "doc": doc}), "JSON": obj(a={"type": "integer", "description": doc})}
    for kind, text in texts.items():
        schemas = HalfSchemas(VALUE, SCHEMA_FORMATS[kind], "t-value", (WriterSchema(1, 1, text, kind),))
        made = to_iceberg(schemas.columns.fields)

        assert made.fields[0].doc == (kept or None)
        assert json.loads(made.model_dump_json())["fields"][0].get("doc", "") == kept


def test_a_fixed_of_any_size_is_measured_at_once() -> None:
    size = {"type": "fixed", "name": "F", "size": 2**31 - 1, "logicalType": "decimal", "precision": 38}
    text = record({"name": "a", "type": size})
    schemas = HalfSchemas(VALUE, SCHEMA_FORMATS["AVRO"], "t-value", (WriterSchema(1, 1, text, "AVRO"),))

    assert str(schemas.columns) == "struct<a: decimal(38,0)>"


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (DEEP, "(root)"),
        ('{"allOf": 1e999}', "(root)"),
        ('{"type": "object", "properties": ["a"]}', "(root)"),
        (obj(a={"oneOf": 65}), "a"),
        (obj(a={"enum": 7}), "a"),
        (obj(a={"$ref": None}), "a"),
        (obj(a={"allOf": [{"type": "object", "properties": 1}, {"properties": {}}]}), "a"),
        (obj(a={"type": "number", "connect.type": "bytes", "connect.parameters": "x"}), "a"),
        (obj(a={"oneOf": [{"title": ["x"], "type": "string"}, {"type": "integer"}]}), "a"),
        (obj(a={"type": "string", "connect.index": "`; DROP TABLE x; --"}), "a"),
    ],
)
def test_what_is_no_json_schema_is_refused_with_its_field(text: str, field: str) -> None:
    assert f"field {field}" in refusal("JSON", text)


@pytest.mark.parametrize(
    ("values", "expected"), [(["a", "\ud800"], [True, False]), (["\udfff"], [False, False])]
)
def test_half_of_a_surrogate_pair_is_no_value_that_a_record_has(values: Any, expected: list[bool]) -> None:
    writer = WriterSchema(1, 1, obj(a={"enum": values}), "JSON")
    decoder = JsonDecoder(HalfSchemas(VALUE, Json(), "s", (writer,), framed=False))

    batch = decoder.arrow().decode(pa.array([b'{"a":"a"}', b'{"a":"\\ud800"}'], pa.binary()))

    assert batch.ok.to_pylist() == expected


def test_a_reference_to_what_is_no_json_is_refused() -> None:
    assert "field (root)" in refusal("JSON", obj(a={"$ref": "b.json"}), ("b.json", DEEP))


@pytest.mark.parametrize("union", [[[]], [["int"], "string"], ["null", {"type": ["int", "string"]}]])
def test_a_union_within_a_union_of_an_older_version_is_a_reason(union: Any) -> None:
    texts = record({"name": "a", "type": union}), record({"name": "a", "type": "int"})
    versions = tuple(WriterSchema(n, n, text, "AVRO") for n, text in enumerate(texts, 1))
    schemas = HalfSchemas(VALUE, SCHEMA_FORMATS["AVRO"], "t-value", versions)

    code, why = schemas.format.decoder(schemas).explain(b"\0\0\0\0\x01\0")

    assert code == "unreadable_schema"
    assert "a union can't be a branch of another" in why


def test_an_import_that_is_no_text_is_refused() -> None:
    raw = FileDescriptorProto(name="m.proto", dependency=["~~~"]).SerializeToString()

    where = refusal("PROTOBUF", base64.b64encode(raw.replace(b"~~~", b"\xff\xfe~")).decode())

    assert "which is no UTF-8" in where


@pytest.mark.parametrize("text", ["255", DEEP, '{"fields": [7]}', record({"type": "int"}), "{"])
def test_a_registered_text_that_is_no_schema_is_no_equal(text: str) -> None:
    wanted = WantedSchema("AVRO", record(INT))

    assert "it is no Avro schema" in differences(WriterSchema(1, 1, text, "AVRO"), wanted)[0]


@pytest.mark.parametrize("suffix", [".avsc", ".json"])
def test_a_schema_file_that_is_nested_without_end_is_refused(suffix: str, tmp_path: Any) -> None:
    file = tmp_path / f"schema{suffix}"
    file.write_text(DEEP)

    with pytest.raises(SpecError, match="this is no"):
        read_schema(file)
