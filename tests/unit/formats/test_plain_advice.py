"""What a refusal of a schema tells its owner to do makes a schema with columns, done to the letter."""

from __future__ import annotations

import json
from typing import Any

import pytest

from frazil.errors import SchemaRefusedError
from frazil.formats.logical import Field, List, Map, Primitive, Struct, Type
from frazil.formats.protocol import VALUE, WriterSchema
from frazil.formats.record import schemas_of
from frazil.spec.topic import TableSpec

LONG, TEXT = Primitive("long"), Primitive("string")
INTEGER, STRING = {"type": "integer"}, {"type": "string"}
ITEM = {"type": "record", "name": "Item", "fields": [{"name": "id", "type": "long"}]}


def columns(kind: str, text: str) -> dict[str, Type]:
    """The columns of a schema's values, by their names."""
    spec = TableSpec(topic="orders")
    return {f.name: f.type for f in schemas_of(spec, VALUE, [WriterSchema(1, 1, text, kind)]).columns}


def refusal(kind: str, text: str) -> SchemaRefusedError:
    with pytest.raises(SchemaRefusedError) as refused:
        columns(kind, text)
    return refused.value


def avro(kind: Any, **more: Any) -> str:
    fields = [{"name": "id", "type": "long"}, *([{"name": "f", "type": kind}] if kind else [])]
    return json.dumps({"type": "record", "name": "Order", "fields": fields, **more})


def entries(*names: str, key: Any = "string") -> dict[str, Any]:
    """An array that stands for a map."""
    fields = [{"name": name, "type": key if name == "key" else "long"} for name in names]
    return {"type": "array", "logicalType": "map", "items": {"type": "record", "name": "E", "fields": fields}}


MAP = {"type": "map", "values": "long"}
LIST = {"type": "array", "items": ITEM}
DEEP = {"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "Node"]}]}
BOUND = {"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "long"]}]}
VARIANT = {"type": "record", "name": "Variant", "namespace": "confluent.type", "fields": []}
MULTISET = {**MAP, "flink.type": "multiset"}


@pytest.mark.parametrize(
    ("todo", "schema", "mended", "expected"),
    [
        ("Take the field out.", avro("null"), avro(None), None),
        ("Take the field out.", avro(["null"]), avro(None), None),
        ("Mend the entries.", avro(entries("key", "worth")), avro(entries("key", "value")), Map(TEXT, LONG)),
        (
            "Use a list of records.",
            avro(entries("key", "value", key=MAP)),
            avro(LIST),
            List(Struct((Field("id", LONG),))),
        ),
        (
            "Mend the type of its values.",
            avro(MULTISET),
            avro({**MULTISET, "values": "int"}),
            Map(TEXT, Primitive("int")),
        ),
        ("Write the value as text or as a map.", avro(VARIANT), avro("string"), TEXT),
        ("Write the value as text or as a map.", avro(VARIANT), avro(MAP), Map(TEXT, LONG)),
        ("Bound the depth in the schema.", avro(DEEP), avro(BOUND), Struct((Field("next", LONG, True),))),
        (
            "Write all branches into one union.",
            avro(["null", ["long", "string"]]),
            avro(["null", "long", "string"]),
            Struct((Field("long", LONG, True), Field("string", TEXT, True))),
        ),
        ("Use letters, digits and _.", avro("long", name="Or-der"), avro("long", name="Or_der"), LONG),
        (
            "Use letters, digits, _ and dots.",
            avro("long", namespace=7),
            avro("long", namespace="shop.v7"),
            LONG,
        ),
        (
            "Mend them.",
            avro({"type": "enum", "name": "E", "symbols": ["A", "A"]}),
            avro({"type": "enum", "name": "E", "symbols": ["A", "B"]}),
            TEXT,
        ),
    ],
)
def test_a_schema_of_avro_that_is_mended_as_told_has_its_columns(
    todo: str, schema: str, mended: str, expected: Type | None
) -> None:
    assert todo in refusal("AVRO", schema).todo
    assert columns("AVRO", mended) == {"id": LONG, **({"f": expected} if expected else {})}


def document(schema: Any, **more: Any) -> str:
    properties = {"id": INTEGER, **({} if schema is None else {"f": schema})}
    return json.dumps({"type": "object", "properties": properties, **more})


PAIR = {"type": "object", "properties": {"key": STRING, "value": INTEGER}, "required": ["value"]}
MARKED = {"type": "array", "connect.type": "map"}
TWO = {"type": "object", "patternProperties": {"^a": INTEGER}, "additionalProperties": STRING}


@pytest.mark.parametrize(
    ("todo", "schema", "mended", "expected"),
    [
        (
            "Add one, or a value type.",
            document({"type": "object"}),
            document({"type": "object", "properties": {"n": INTEGER}}),
            Struct((Field("n", LONG, True),)),
        ),
        (
            "Add one, or a value type.",
            document({"type": "object"}),
            document({"type": "object", "additionalProperties": INTEGER}),
            Map(TEXT, LONG),
        ),
        ("Write its type", document({}), document(STRING), TEXT),
        ("Write its type", document({"minimum": 1, "title": "n"}), document(INTEGER), LONG),
        (
            "Write its items.",
            document({"type": "array"}),
            document({"type": "array", "items": STRING}),
            List(TEXT),
        ),
        (
            "Use an object.",
            document({"type": "array", "prefixItems": [STRING, INTEGER]}),
            document({"type": "object", "properties": {"a": STRING, "b": INTEGER}}),
            Struct((Field("a", TEXT, True), Field("b", LONG, True))),
        ),
        ("Take the field out.", document({"type": "null"}), document(None), None),
        (
            "Give patternProperties and additionalProperties one type.",
            document(TWO),
            document({**TWO, "additionalProperties": INTEGER}),
            Map(TEXT, LONG),
        ),
        (
            "Add them.",
            document({**MARKED, "items": STRING}),
            document({**MARKED, "items": PAIR}),
            Map(TEXT, LONG),
        ),
        (
            "List the names of the properties.",
            document(INTEGER, required="f"),
            document(INTEGER, required=["f"]),
            LONG,
        ),
    ],
)
def test_a_schema_of_json_that_is_mended_as_told_has_its_columns(
    todo: str, schema: str, mended: str, expected: Type | None
) -> None:
    assert todo in refusal("JSON", schema).todo
    assert columns("JSON", mended) == {"id": LONG, **({"f": expected} if expected else {})}


def proto(*lines: str) -> str:
    return "\n".join(('syntax = "proto3";', *lines))


FREE = 'import "google/protobuf/struct.proto";'
ORDER = "message Order { int64 id = 1; %s f = 2; }"


@pytest.mark.parametrize(
    ("todo", "schema", "mended", "expected"),
    [
        ("Declare one.", proto("enum Side { NONE = 0; }"), proto("message Order { int64 id = 1; }"), None),
        (
            "Use a message with fields, or bytes.",
            proto(FREE, ORDER % "google.protobuf.Struct"),
            proto(ORDER % "bytes"),
            Primitive("binary"),
        ),
        (
            "Use a message with fields, or bytes.",
            proto(FREE, ORDER % "google.protobuf.Struct"),
            proto(ORDER % "Item", "message Item { int64 id = 1; }"),
            Struct((Field("id", LONG),)),
        ),
        (
            "Bound the depth in the schema.",
            proto(ORDER % "Node", "message Node { Node next = 1; }"),
            proto(ORDER % "Node", "message Node { int64 next = 1; }"),
            Struct((Field("next", LONG),)),
        ),
    ],
)
def test_a_schema_of_protobuf_that_is_mended_as_told_has_its_columns(
    todo: str, schema: str, mended: str, expected: Type | None
) -> None:
    assert todo in refusal("PROTOBUF", schema).todo
    assert columns("PROTOBUF", mended) == {"id": LONG, **({"f": expected} if expected else {})}
