"""What refusals of a topic's format tell people to write is written, and the topic has its columns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from frazil.errors import ConfigureError, FrazilError, SchemaRefusedError
from frazil.formats.columns.columns import RecordColumns
from frazil.formats.halves import half_schemas, schemas_of
from frazil.formats.kinds import schema_format
from frazil.formats.logical import Field, List, Primitive, Struct
from frazil.formats.protocol import KEY, VALUE, WriterSchema
from frazil.formats.record import row_columns
from frazil.formats.registry.client import RegistryClient, registry_client
from frazil.formats.row_key import NO_KEY, row_key
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from kit.pages.followed import followed
from kit.wires.answering import Server, serving

LONG, TEXT = Primitive("long"), Primitive("string")
ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
ROW = Struct((Field("id", LONG), Field("note", TEXT)))
KEYS = Struct((Field("id", LONG),))


@pytest.fixture
def registry() -> Iterator[RegistryClient]:
    """One that has the same schema of Avro for every subject."""
    with serving() as server:
        answers(server)
        yield registry_client(Settings(registry={"url": server.url}))


def answers(server: Server) -> None:
    version_given = {
        "subject": "any",
        "version": 1,
        "id": 7,
        "schema": json.dumps(ORDER),
        "schemaType": "AVRO",
    }
    version = (200, {}, json.dumps(version_given).encode())
    server.answers = {
        "versions/latest": version, "versions/1": version, "versions": (200, {}, b"[1]"),
    }  # fmt: skip


def spec(**fields: Any) -> TableSpec:
    return TableSpec.model_validate({"topic": "orders", **fields})


def lines_of(todo: str) -> dict[str, str]:
    """The lines of YAML in an advice."""
    return dict(re.findall(r"(\w+): (\w+)(?![\w:])", todo))


def columns(of: TableSpec, value: Struct, key: Struct = KEYS) -> list[str]:
    """The table's columns, and those that tell rows apart, as a landing works them out."""
    columns_made = row_columns(of, key, value)
    return [*(f.name for f in columns_made.fields), *row_key(of, columns_made).columns]


@pytest.mark.parametrize("leaves_out", [False, True])
def test_a_format_is_written_as_the_registry_has_it_or_is_left_out(
    registry: RegistryClient, leaves_out: bool
) -> None:
    with pytest.raises(ConfigureError, match="is of format avro, the spec says json") as refused:
        half_schemas(spec(value_format="json"), VALUE, registry)

    advised = {} if leaves_out else lines_of(refused.value.todo)

    assert advised == {} if leaves_out else {"value_format": "avro"}
    assert half_schemas(spec(**advised), VALUE, registry).columns == Struct(ROW.fields[:1])


@pytest.mark.parametrize("fields", [{}, {"record_type": "Order", "subject_names": "record"}])
def test_a_record_type_of_avro_is_dropped_or_is_a_subject_of_its_own(
    registry: RegistryClient, fields: dict[str, str]
) -> None:
    with pytest.raises(ConfigureError, match="picks a message of a Protobuf schema"):
        half_schemas(spec(record_type="Order"), VALUE, registry)

    assert half_schemas(spec(**fields), VALUE, registry).columns == Struct(ROW.fields[:1])


def test_changes_in_protobuf_that_are_unwrapped_in_the_connector_are_rows_by_key() -> None:
    text = 'syntax = "proto3"; message Row { int64 id = 1; string note = 2; }'
    writers = [WriterSchema(1, 1, text, "PROTOBUF")]
    with pytest.raises(ConfigureError, match="written in Protobuf") as refused:
        schemas_of(spec(mode="cdc"), VALUE, writers)

    upserts = spec(**lines_of(refused.value.todo))

    assert upserts.mode == "upsert"
    assert columns(upserts, schemas_of(upserts, VALUE, writers).columns) == ["id", "note", "id"]


def test_rows_that_are_no_envelope_are_taken_as_they_are_by_the_mode_that_is_named() -> None:
    with pytest.raises(SchemaRefusedError, match="are no changes of rows") as refused:
        columns(spec(mode="cdc"), ROW)

    assert columns(spec(**lines_of(refused.value.todo)), ROW) == ["id", "note", "id"]


def test_changes_of_mongodb_are_kept_with_their_text_by_append_and_are_rows_once_they_are_unwrapped() -> None:
    source = Struct((Field("collection", TEXT), Field("ts_ms", LONG)))
    value = Struct((Field("after", TEXT, True), Field("op", TEXT), Field("source", source)))
    with pytest.raises(SchemaRefusedError, match="changes of MongoDB") as refused:
        columns(spec(mode="cdc"), value)

    upsert, append = re.findall(r"mode: (\w+)", refused.value.todo)

    assert columns(spec(mode=append), value) == ["id", "after", "op", "source"]
    assert columns(spec(mode=upsert), ROW) == ["id", "note", "id"]


def test_changes_without_numbers_of_the_log_are_put_in_order_by_their_offsets() -> None:
    value = Struct((Field("op", TEXT), Field("after", ROW, optional=True)))
    by_lsn = {"mode": "cdc", "delete": "soft", "order_by": "source.lsn"}
    with pytest.raises(SchemaRefusedError, match="can't be put in order") as refused:
        columns(spec(**by_lsn), value)

    assert columns(spec(**by_lsn | lines_of(refused.value.todo)), value) == ["id", "note", "id"]


def test_a_key_that_can_tell_no_rows_apart_is_another_one_or_none() -> None:
    of = RecordColumns(Struct((Field("price", Primitive("double")),)), Struct((Field("id", LONG),)))
    with pytest.raises(SchemaRefusedError, match="can't be a table's") as refused:
        row_key(spec(mode="upsert"), of)

    assert "Name other fields in key_fields" in refused.value.todo
    assert list(row_key(spec(mode="upsert", key_fields=["id"]), of).columns) == ["id"]
    assert row_key(spec(**lines_of(refused.value.todo)), of) is NO_KEY


def test_a_field_of_the_key_that_there_is_not_is_one_of_those_that_are_named() -> None:
    of = RecordColumns(KEYS, Struct((Field("tags", List(TEXT)), Field("note", TEXT))))
    with pytest.raises(FrazilError, match="neither key nor value has a field idd") as refused:
        row_key(spec(mode="upsert", key_fields=["idd"]), of)

    there = refused.value.todo.rpartition("there are ")[2].rstrip(".").split(", ")

    assert there == ["id", "tags", "note"]
    assert list(row_key(spec(mode="upsert", key_fields=there[:1]), of).columns) == ["id"]


def test_rules_that_no_validator_takes_are_left_to_types() -> None:
    schema = {"type": "object", "properties": {"id": {"type": "string", "pattern": "("}}}
    writers = [WriterSchema(1, 1, json.dumps(schema), "JSON")]

    def decoded(of: TableSpec) -> list[str]:
        schemas = schemas_of(of, VALUE, writers)
        return [f.name for f in schemas.format.decoder(schemas).columns]

    with pytest.raises(SchemaRefusedError, match="can't be validated") as refused:
        decoded(spec(validate="strict"))

    assert decoded(spec(**lines_of(refused.value.todo))) == ["id"]


def test_a_format_that_is_named_is_one_that_frazil_knows() -> None:
    with pytest.raises(ConfigureError, match="Format thrift is unknown") as refused:
        schema_format("THRIFT", "s")

    titles = re.split(", | or ", refused.value.todo.removeprefix("Use ").rstrip("."))

    assert [schema_format(t.split()[0].upper(), "s").title for t in titles] == titles


@pytest.mark.parametrize("other", ["micros", "long"])
def test_nanoseconds_of_avro_are_a_column_as_microseconds_or_as_a_number(other: str) -> None:
    def schema(**of: str) -> list[WriterSchema]:
        at = {"name": "at", "type": {"type": "long", **of}}
        return [WriterSchema(1, 1, json.dumps({**ORDER, "fields": [at]}), "AVRO")]

    with pytest.raises(SchemaRefusedError, match="has no column type") as refused:
        _ = schemas_of(spec(), VALUE, schema(logicalType="timestamp-nanos")).columns

    (named,) = re.findall(r"Use ([\w-]+), or a plain long", refused.value.todo)
    mended = schema(logicalType=named) if other == "micros" else schema()
    (column,) = schemas_of(spec(), VALUE, mended).columns
    assert column.type == (Primitive("timestamptz") if other == "micros" else LONG)


FREE, TEXTS = {"type": "object"}, {"type": "string"}
NODE = {"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "Node"]}]}


def obj(**properties: Any) -> str:
    return json.dumps({"type": "object", "properties": properties})


def avro(*fields: tuple[str, Any]) -> str:
    members = [{"name": name, "type": kind} for name, kind in fields]
    return json.dumps({"type": "record", "name": "Root", "fields": members})


@pytest.mark.parametrize(
    ("kind", "schema", "lines"),
    [
        ("JSON", obj(id=TEXTS, extra=FREE), ["{extra: text}", "text"]),
        ("JSON", obj(id=TEXTS, o={"properties": {"extra": FREE}}), ["{o.extra: text}", "text"]),
        ("JSON", obj(u={"anyOf": [TEXTS, FREE]}), ["{u: text}", "text"]),
        ("JSON", obj(a=FREE, b=FREE), ["{a: text}", "text"]),
        (
            "JSON",
            json.dumps({"oneOf": [TEXTS, {"properties": {"f": FREE}}]}),
            ["{connect_union_field_1.f: text}", "text"],
        ),
        ("JSON", json.dumps({"oneOf": [TEXTS, FREE]}), ["text"]),
        ("JSON", json.dumps({"oneOf": [TEXTS, {"properties": {"A": TEXTS, "a": TEXTS}}]}), ["text"]),
        ("JSON", json.dumps(FREE), ["text"]),
        ("JSON", "{}", ["text"]),
        ("JSON", json.dumps({"type": "array", "items": FREE}), ["text"]),
        ("JSON", obj(A=TEXTS, a=TEXTS), []),
        ("JSON", obj(o={"properties": {"A": TEXTS, "a": TEXTS}}), ["{o: text}", "text"]),
        ("JSON", obj(**{"a b": TEXTS}), []),
        ("JSON", obj(o={"properties": {"a b": TEXTS}}), ["{o: text}", "text"]),
        ("JSON", obj(m={"additionalProperties": {"properties": {"a b": TEXTS}}}), ["{m: text}", "text"]),
        ("AVRO", avro(("n", "int"), ("node", NODE)), ["{node.next: text}", "text"]),
        ("AVRO", avro(("A", "int"), ("a", "int")), []),
        ("AVRO", json.dumps([NODE, "int"]), ["{value.Node.next: text}", "text"]),
        ("PROTOBUF", 'syntax="proto3"; message M { int32 a_b = 1; int32 A_B = 2; }', []),
        ("PROTOBUF", 'syntax="proto3"; message M { int32 n = 1; M next = 2; }', ["{next: text}", "text"]),
        (
            "PROTOBUF",
            'syntax="proto3"; message M { N of = 1; message N { int32 a = 1; int32 A = 2; } }',
            ["{of: text}", "text"],
        ),
    ],
)
def test_a_refusal_proposes_the_lines_of_text_that_land_the_topic(
    kind: str, schema: str, lines: list[str]
) -> None:
    schemas = schemas_of(spec(), VALUE, [WriterSchema(1, 1, schema, kind)])
    with pytest.raises(SchemaRefusedError) as refused:
        _ = schemas.columns

    assert re.findall(r"`unmappable: (.+?)`", refused.value.todo) == lines
    assert all(landed_schema.fields for landed_schema in followed(schemas))


def test_what_the_spec_says_already_stands_in_what_is_proposed() -> None:
    writers = [WriterSchema(1, 1, obj(a=FREE, b=FREE, c=FREE), "JSON")]
    with pytest.raises(SchemaRefusedError) as refused:
        _ = schemas_of(spec(unmappable={"a": "text", "c": "refuse", "*": "refuse"}), VALUE, writers).columns

    assert re.findall(r"`unmappable: (.+?)`", refused.value.todo) == [
        "{a: text, b: text, c: refuse}",
        '{"*": text, c: refuse}',
    ]


def test_a_key_whose_name_is_a_values_but_for_case_is_left_out() -> None:
    value = Struct((Field("ID", LONG),))
    with pytest.raises(SchemaRefusedError, match="differ by case only") as refused:
        columns(spec(), value)

    advised = lines_of(refused.value.todo)

    assert advised == {"key_format": "none"}
    assert half_schemas(spec(**advised), KEY, None).columns == Struct(())  # type: ignore[arg-type]
    assert columns(spec(**advised), value, Struct(())) == ["ID"]
