"""JSON schemas: what they become, what is refused, and which older versions the newest one reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from frazil.errors import SchemaRefusedError
from frazil.formats.json.schemas.versions import json_columns, readable
from frazil.formats.logical import Decimal, Field, Fixed, List, Map, Primitive, Struct, Type
from frazil.formats.protocol import WriterSchema

CONNECT = "org.apache.kafka.connect.data."
LONG, TEXT = Primitive("long"), Primitive("string")
INTEGER, STRING, NULL = ({"type": t} for t in ("integer", "string", "null"))


def obj(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def mapped(schema: Any, *dependencies: tuple[str, str], word: str = "value") -> Struct:
    return json_columns([WriterSchema(1, 1, json.dumps(schema), "JSON", (), dependencies)], "s-value", word)


def logical(schema: Any, **more: Any) -> Field:
    """The field of an object that requires it."""
    return mapped({**obj("f", f=schema), **more}).fields[0]


def connect(kind: str, title: str = "", json_type: str = "integer", **more: Any) -> dict[str, Any]:
    return {"type": json_type, "connect.type": kind, "title": CONNECT + title, **more}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "boolean"}, Primitive("boolean")),
        (INTEGER, LONG),
        ({"type": "number"}, Primitive("double")),
        ({"type": "integer", "connect.type": "int8"}, Primitive("int")),
        ({"type": "number", "connect.type": "float32"}, Primitive("float")),
        (connect("int32", "Date"), Primitive("date")),
        (connect("int32", "Time"), LONG),
        (connect("int64", "Timestamp"), Primitive("timestamptz")),
        (connect("int64", "Timestamp", **{"flink.type": "timestamp"}), Primitive("timestamp")),
        ({"type": "number", "connect.type": "int64", "flink.type": "timestamp"}, Primitive("timestamp")),
        (connect("bytes", "Decimal", "number"), Decimal(38, 18)),
        (connect("bytes", "Decimal", "number", precision=64, scale=2), Decimal(38, 2)),
        (connect("bytes", "Decimal", "number", **{"connect.parameters": {"scale": "3"}}), Decimal(38, 3)),
        ({"type": "string", "connect.type": "bytes"}, Primitive("binary")),
        ({"type": "string", "connect.type": "bytes", "flink.minLength": 4, "flink.maxLength": 4}, Fixed(4)),
        ({"type": "string", "format": "date-time"}, TEXT),
        ({"enum": ["A", "B"]}, TEXT),
        ({"const": 1}, LONG),
        ({"type": "array", "items": INTEGER}, List(LONG)),
        ({"type": "array", "items": {"oneOf": [NULL, INTEGER]}}, List(LONG, element_optional=True)),
        ({"type": "object", "additionalProperties": INTEGER}, Map(TEXT, LONG)),
        ({"type": "object", "patternProperties": {"^x": INTEGER}}, Map(TEXT, LONG)),
        (obj("x", x=INTEGER), Struct((Field("x", LONG),))),
        ({"allOf": [obj("x", x=INTEGER), obj(y=STRING)]}, Struct((Field("x", LONG), Field("y", TEXT, True)))),
        ({"allOf": [{"type": "number"}, {"type": "integer"}]}, LONG),
        (
            {"type": "array", "connect.type": "map", "items": obj("key", key=INTEGER, value=STRING)},
            Map(LONG, TEXT, value_optional=True),
        ),
        (
            {"anyOf": [{**STRING, "title": "text"}, INTEGER]},
            Struct((Field("text", TEXT, True), Field("connect_union_field_1", LONG, True))),
        ),
    ],
)
def test_each_json_type_has_its_column_type(schema: Any, expected: Type) -> None:
    assert logical(schema) == Field("f", expected)


@pytest.mark.parametrize(
    "schema",
    [
        {"oneOf": [NULL, STRING]},
        {"anyOf": [STRING, NULL]},
        {"type": ["string", "null"]},
        {"enum": ["A", None]},
    ],
)
def test_null_in_a_union_makes_the_column_optional(schema: Any) -> None:
    assert logical(schema) == Field("f", TEXT, optional=True)


def test_what_is_not_required_is_optional_and_members_stand_by_their_index_then_by_name() -> None:
    schema = obj("b", c=STRING, a=STRING, b={**STRING, "connect.index": 0})

    columns = mapped(schema)

    assert [(f.name, f.optional) for f in columns] == [("b", False), ("a", True), ("c", True)]


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({}, "an empty schema allows any value"),
        (True, "an empty schema allows any value"),
        (NULL, "null alone has no column type"),
        ({"minimum": 1}, "the schema has no type"),
        ({"enum": ["A", 1]}, "the schema has no type"),
        ({"type": "object"}, "an object without properties"),
        ({"type": "array"}, "an array without items"),
        ({"type": "array", "items": [INTEGER]}, "a tuple has no column type"),
        ({"type": "array", "prefixItems": [INTEGER]}, "a tuple has no column type"),
        ({"if": {}}, "the schema has no type"),
        ({"not": STRING}, "the schema has no type"),
        ({**obj(a=STRING), "if": {}, "then": obj(b=STRING)}, "a then or an else declares b"),
        ({**obj(a=STRING), "if": {}, "else": {"allOf": [obj(b=STRING)]}}, "a then or an else declares b"),
        ({**obj(a=obj(b=STRING)), "if": {}, "then": obj(a=obj(c=STRING))}, "a then or an else declares c"),
        ({**obj(a=STRING), "allOf": [{"if": {}, "then": obj(b=STRING)}]}, "a then or an else declares b"),
        ({**obj(a=STRING), "if": {}, "then": {"$ref": "#/$defs/x"}}, "declares #/$defs/x"),
        ({"oneOf": [obj(a=STRING), obj(b=STRING)], "if": {}, "then": obj(c=STRING)}, "declares c"),
        (obj(**{"a b": STRING}), "'a b' has white space"),
        (obj(**{"a`b": STRING}), "'a`b' has white space, a backtick"),
        (obj(**{"a\0": STRING}), "has white space, a backtick or a sign that can't be shown"),
        (obj(**{"a\ud800": STRING}), "has white space, a backtick or a sign that can't be shown"),
        (obj(a=STRING, A=STRING), "A and a differ by case only"),
        ({"allOf": [STRING, INTEGER]}, "allOf wants string and integer at once"),
        ({**obj(a=STRING), "oneOf": [obj(b=STRING), obj(c=STRING)]}, "oneOf beside a type of its own"),
        ({"$ref": "#/$defs/none"}, "leads nowhere"),
        ({"$ref": "other.json"}, "leads nowhere"),
        ({"$ref": "#/$defs/tree"}, "#/$defs/tree contains itself"),
        (connect("bytes", "Decimal", "number", precision=64, scale=39), "decimal(64,39) is out of range"),
        ({"type": "integer", "connect.type": "int128"}, "connect.type 'int128' does not go with integer"),
    ],
)
def test_what_no_column_can_hold_is_refused_by_path(schema: Any, why: str) -> None:
    tree = obj(child={"$ref": "#/$defs/tree"})

    with pytest.raises(SchemaRefusedError) as refused:
        logical(obj(inner=schema), **{"$defs": {"tree": tree}})

    assert why in str(refused.value)
    assert "subject s-value, field f.inner" in str(refused.value)


@pytest.mark.parametrize(
    "rule",
    [
        {"not": {"required": ["b"]}},
        {"not": obj(secret=STRING)},
        {"if": obj(a={"const": "x"}), "then": {"required": ["a"]}, "else": {"not": {"required": ["a"]}}},
        {"if": {"required": ["a"]}, "then": obj(a={"minLength": 1}, b=False)},
        {"allOf": [{"if": {}, "then": obj(a={"pattern": "^x"})}, {"if": {}, "then": {"oneOf": [obj("a")]}}]},
        {"then": obj(b=STRING)},
    ],
)
def test_what_only_constrains_takes_nothing_from_the_columns(rule: Any) -> None:
    plain = obj(a=STRING, n=INTEGER)

    assert mapped({**plain, **rule}) == mapped(plain)
    assert logical({**plain, **rule}) == logical(plain)
    assert logical({"oneOf": [{**plain, **rule}, STRING]}) == logical({"oneOf": [plain, STRING]})


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"allOf": [{"$ref": "#/$defs/left"}, {"$ref": "#/$defs/right"}]}, id="two of one base"),
        pytest.param({"allOf": [{"$ref": "#/$defs/base"}], **obj(own={"$ref": "#/$defs/base"})}, id="beside"),
        pytest.param({"$ref": "#/$defs/base", **obj(own={"$ref": "#/$defs/base"})}, id="beside $ref"),
    ],
)
def test_a_base_that_is_met_twice_does_not_contain_itself(schema: Any) -> None:
    base = {"$ref": "#/$defs/base"}
    parts = {
        "base": obj(x=STRING),
        "left": {"allOf": [base], **obj(l=STRING)},
        "right": {"allOf": [base], **obj(own=obj(x=STRING))},
    }

    columns = mapped({**schema, "$defs": parts})

    own = columns.get("own")
    assert columns.get("x")
    assert own
    assert own.type == Struct((Field("x", TEXT, optional=True),))


def doubling(levels: int, twice: Callable[[Any], Any]) -> dict[str, Any]:
    """Definitions each of which uses the next one twice."""
    parts = {f"d{n}": twice({"$ref": f"#/$defs/d{n + 1}"}) for n in range(levels)}
    return {**obj(a={"$ref": "#/$defs/d0"}), "$defs": {**parts, f"d{levels}": obj(x=STRING)}}


@pytest.mark.parametrize(
    "twice",
    [
        pytest.param(lambda each: obj(a=each, b=each), id="properties"),
        pytest.param(lambda each: {"allOf": [each, {"allOf": [each]}]}, id="allOf"),
        pytest.param(lambda each: {"oneOf": [each, each]}, id="oneOf"),
    ],
)
def test_a_schema_that_would_grow_without_bound_is_refused(twice: Callable[[Any], Any]) -> None:
    with pytest.raises(SchemaRefusedError, match=r"more than [26]0000"):
        mapped(doubling(25, twice))


def test_constraints_beside_a_type_change_nothing() -> None:
    schema = {
        **obj(a=STRING, b=STRING),
        "anyOf": [{"required": ["a"]}, {"properties": {"b": {"const": "x"}}}],
    }

    assert logical(schema) == logical(obj(a=STRING, b=STRING))


@pytest.mark.parametrize(
    "reference",
    [
        "point.json",
        "point.json#",
        "point.json#/$defs/same",
        "http://example.com/point.json",
        "point.json#here",
    ],
)
def test_another_subject_is_found_by_name_by_id_and_by_anchor(reference: str) -> None:
    point = {
        **obj("x", x=INTEGER),
        "$id": "http://example.com/point.json",
        "$defs": {"same": obj("x", x=INTEGER), "named": {"$anchor": "here", **obj("x", x=INTEGER)}},
    }
    schema = {"$id": "http://example.com/order.json", **obj("p", p={"$ref": reference})}

    columns = mapped(schema, ("point.json", json.dumps(point)))

    assert columns == Struct((Field("p", Struct((Field("x", LONG),))),))


@pytest.mark.parametrize(("word", "name"), [("key", "key"), ("value", "value")])
def test_a_root_that_is_no_object_is_one_column(word: str, name: str) -> None:
    assert mapped(INTEGER, word=word) == Struct((Field(name, LONG),))


def version(schema_id: int, schema: Any) -> WriterSchema:
    return WriterSchema(schema_id, schema_id, json.dumps(schema), "JSON")


def test_older_versions_are_read_where_every_value_has_a_place_in_the_newest_columns() -> None:
    small = {"type": "integer", "connect.type": "int32"}
    versions = [
        version(1, obj("a", a=STRING)),
        version(2, obj("a", a=small)),
        version(3, obj("a", a={})),
        version(4, STRING),
        version(5, obj("a", "b", a=INTEGER, b=STRING)),
    ]

    nodes = readable(versions, "s-value")

    assert list(nodes) == [5, 3, 2]
    assert nodes[3] == nodes[5]  # any value, which is no column: what fits the newest version is read by it


def test_columns_are_optional_where_an_older_version_may_leave_something_out() -> None:
    old = obj("o", o=obj(x=INTEGER))
    new = obj("o", "b", o=obj("x", x=INTEGER), b=STRING)

    columns = json_columns([version(1, old), version(2, new)], "s-value", "value")

    inner = Struct((Field("x", LONG, optional=True),))
    assert columns == Struct((Field("b", TEXT, optional=True), Field("o", inner)))
