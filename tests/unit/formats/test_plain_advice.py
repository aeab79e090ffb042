"""What a refusal of a schema tells its owner to do makes a schema with columns, done to the letter."""

from __future__ import annotations

import json
from typing import Any

import pytest

from frazil.errors import SchemaRefusedError
from frazil.formats import protocol
from frazil.formats.halves import schemas_of
from frazil.formats.logical import Field, List, Map, Primitive, Struct, Type
from frazil.formats.protocol import MAX_DEPTH, VALUE, WriterSchema
from frazil.spec.topic import TableSpec

LONG, TEXT = Primitive("long"), Primitive("string")
TOO_DEEP = MAX_DEPTH + 2
INTEGER, STRING = {"type": "integer"}, {"type": "string"}
Dependencies = tuple[tuple[str, str], ...]
ITEM = {"type": "record", "name": "Item", "fields": [{"name": "id", "type": "long"}]}


def columns(kind: str, text: str, referred: Dependencies = (), **fields: Any) -> dict[str, Type]:
    """The columns of a schema's values, by their names."""
    spec = TableSpec.model_validate({"topic": "orders", **fields})
    writer = WriterSchema(1, 1, text, kind, dependencies=referred)
    return {f.name: f.type for f in schemas_of(spec, VALUE, [writer]).columns}


def refusal(kind: str, text: str, **fields: Any) -> SchemaRefusedError:
    with pytest.raises(SchemaRefusedError) as refused:
        columns(kind, text, **fields)
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


def records(levels: int) -> Any:
    """A record in a record, and so on."""
    kind: Any = "long"
    for n in range(levels):
        kind = {"type": "record", "name": f"R{n}", "fields": [{"name": "a", "type": kind}]}
    return kind


def structs(levels: int, inner: Type = LONG) -> Type:
    """The column that becomes of it."""
    for _ in range(levels):
        inner = Struct((Field("a", inner),))
    return inner


@pytest.mark.parametrize(
    ("todo", "schema", "mended", "expected"),
    [
        ("Take the field out.", avro("null"), avro(None), None),
        ("Take the field out.", avro(["null"]), avro(None), None),
        ("Fix the entries.", avro(entries("key", "worth")), avro(entries("key", "value")), Map(TEXT, LONG)),
        (
            "Use a list of records.",
            avro(entries("key", "value", key=MAP)),
            avro(LIST),
            List(Struct((Field("id", LONG),))),
        ),
        (
            "Fix the type of its values.",
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
            "Fix them.",
            avro({"type": "enum", "name": "E", "symbols": ["A", "A"]}),
            avro({"type": "enum", "name": "E", "symbols": ["A", "B"]}),
            TEXT,
        ),
        ("Flatten it.", avro(records(TOO_DEEP)), avro(records(3)), structs(3)),
        (
            "Add one.",
            avro({"type": "record", "name": "E", "fields": []}),
            avro({"type": "record", "name": "E", "fields": ITEM["fields"]}),
            Struct((Field("id", LONG),)),
        ),
        ("Fix the schema.", avro("long")[:-1], avro("long"), LONG),
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


def nested(levels: int) -> str:
    """A document with an object in an object, and so on, as text: Python can't walk the deepest ones."""
    within = '{"type": "object", "properties": {"a": ' * levels + json.dumps(INTEGER) + "}}" * levels
    return document(None).replace('"properties": {', f'"properties": {{"f": {within}, ', 1)


OPEN = {"type": "object", "properties": {"a": INTEGER}}
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
        ("Make it flatter.", nested(TOO_DEEP), nested(1), Struct((Field("a", LONG, True),))),
        ("Make it flatter.", nested(50_000), nested(1), Struct((Field("a", LONG, True),))),
        (
            "Move all into it.",
            document({**OPEN, "oneOf": [{"properties": {"b": STRING}}, {"properties": {"c": STRING}}]}),
            document({"type": "object", "properties": {"a": INTEGER, "b": STRING, "c": STRING}}),
            Struct((Field("a", LONG, True), Field("b", TEXT, True), Field("c", TEXT, True))),
        ),
        (
            "Rename it.",
            document({"type": "object", "properties": {"unit price": INTEGER}}),
            document({"type": "object", "properties": {"unit_price": INTEGER}}),
            Struct((Field("unit_price", LONG, True),)),
        ),
        (
            "Rename one of them.",
            document({"type": "object", "properties": {"A": INTEGER, "a": STRING}}),
            document({"type": "object", "properties": {"A": INTEGER, "b": STRING}}),
            Struct((Field("A", LONG, True), Field("b", TEXT, True))),
        ),
        ("Fix the schema.", '{"type": "object", "properties": 7}', document(INTEGER), LONG),
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


def messages(levels: int) -> str:
    """A message in a message, and so on."""
    texts = (f"message M{n} {{ {f'M{n - 1}' if n else 'int64'} a = 1; }}" for n in range(levels))
    return proto(ORDER % f"M{levels - 1}", *texts)


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
        ("Make it flatter.", messages(TOO_DEEP), messages(1), structs(1)),
        (
            "Write the value as text or as a map.",
            proto('import "confluent/type/variant.proto";', ORDER % "confluent.type.Variant"),
            proto(ORDER % "string"),
            TEXT,
        ),
        (
            "Write the value as text or as a map.",
            proto('import "confluent/type/variant.proto";', ORDER % "confluent.type.Variant"),
            proto(ORDER % "map<string, int64>"),
            Map(TEXT, LONG),
        ),
        (
            "Register a schema that compiles",
            proto(ORDER % "Itm", "message Item { int64 id = 1; }"),
            proto(ORDER % "Item", "message Item { int64 id = 1; }"),
            Struct((Field("id", LONG),)),
        ),
    ],
)
def test_a_schema_of_protobuf_that_is_mended_as_told_has_its_columns(
    todo: str, schema: str, mended: str, expected: Type | None
) -> None:
    assert todo in refusal("PROTOBUF", schema).todo
    assert columns("PROTOBUF", mended) == {"id": LONG, **({"f": expected} if expected else {})}


@pytest.mark.parametrize(
    ("kind", "todo", "schema", "referred"),
    [
        (
            "AVRO",
            "Register what it refers to, and the reference.",
            avro("shop.Item"),
            ("shop.Item", json.dumps({**ITEM, "namespace": "shop"})),
        ),
        (
            "PROTOBUF",
            "a reference for each file that it imports",
            proto('import "item.proto";', ORDER % "Item"),
            ("item.proto", proto("message Item { int64 id = 1; }")),
        ),
    ],
)
def test_a_schema_whose_references_are_registered_as_told_has_its_columns(
    kind: str, todo: str, schema: str, referred: tuple[str, str]
) -> None:
    assert todo in refusal(kind, schema).todo
    assert columns(kind, schema, (referred,)) == {"id": LONG, "f": Struct((Field("id", LONG),))}


def test_a_union_with_a_branch_without_columns_is_split_into_fields_or_declares_fewer_digits() -> None:
    """Its digits are text, as the spec says, once they are no branch."""
    wide = {"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 2}
    refused = refusal("AVRO", avro(["null", wide, "string"]), wide_decimals="text")

    fields = [{"name": "f", "type": ["null", wide]}, {"name": "other", "type": ["null", "string"]}]
    split = columns("AVRO", json.dumps({**ITEM, "fields": ITEM["fields"] + fields}), wide_decimals="text")

    assert "Split it into fields." in refused.todo
    assert split == {"id": LONG, "f": TEXT, "other": TEXT}
    fewer = columns("AVRO", avro(["null", {**wide, "precision": 38}, "string"]), wide_decimals="text")
    assert [str(f.type) for f in fewer["f"].fields] == ["decimal(38,2)", "string"]


@pytest.fixture
def few_fields(monkeypatch: pytest.MonkeyPatch) -> int:
    """How many fields a table has at most, for this test."""
    monkeypatch.setattr(protocol, "MAX_FIELDS", 300)
    return 300


def test_a_schema_of_too_many_fields_is_split(few_fields: int) -> None:
    def wide(fields: int) -> str:
        return json.dumps({"type": "object", "properties": {f"f{n}": INTEGER for n in range(fields)}})

    assert "Split it." in refusal("JSON", wide(few_fields + 1)).todo
    assert len(columns("JSON", wide(few_fields // 2))) == few_fields // 2


@pytest.mark.usefixtures("few_fields")
def test_what_has_to_have_columns_in_a_schema_that_is_cut_is_made_flatter() -> None:
    """Everything else is text, for there are too many fields."""
    last = {"D9": INTEGER}
    pairs = {f"D{n}": {"$ref": f"#/$defs/D{n + 1}"} for n in range(9)}
    many = {name: {"type": "object", "properties": {"a": to, "b": to}} for name, to in pairs.items()}

    def schema(levels: int) -> str:
        within = json.loads(nested(levels))["properties"]
        return json.dumps({"properties": {**within, "many": {"$ref": "#/$defs/D0"}}, "$defs": many | last})

    fields = {"unmappable": {"*": "text", "f" + ".a" * 20: "refuse"}}
    refused = refusal("JSON", schema(30), **fields)

    assert "the schema is cut 12 levels deep" in refused.what
    assert "Make it flatter." in refused.todo
    assert columns("JSON", schema(1), **fields)["f"] == Struct((Field("a", LONG, True),))
