"""Where a `$ref` of JSON Schema leads: to the right document, whatever the property above it is called."""

from __future__ import annotations

import json
from typing import Any

import pytest

from frazil.errors import SchemaRefusedError
from frazil.formats.json.schemas.versions import json_columns
from frazil.formats.logical import Field, List, Map, Primitive, Struct, Type
from frazil.formats.protocol import WriterSchema

LONG, TEXT = Primitive("long"), Primitive("string")
INTEGER, STRING = ({"type": t} for t in ("integer", "string"))
HERE, THERE = {"$ref": "#/definitions/B"}, {"$ref": "other.json"}


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def mapped(schema: Any, *dependencies: tuple[str, str]) -> Struct:
    return json_columns(
        [WriterSchema(1, 1, json.dumps(schema), "JSON", (), dependencies)], "s-value", "value"
    )


def struct(**fields: Type) -> Struct:
    return Struct(tuple(Field(name, kind) for name, kind in fields.items()))


@pytest.mark.parametrize("word", ["default", "enum", "const", "examples", "$id", "id", "$anchor", "required"])
def test_a_property_may_be_named_like_a_keyword(word: str) -> None:
    other = {**obj(**{word: HERE}), "definitions": {"B": INTEGER}}
    schema = {**obj(o=THERE, **{word: HERE}), "definitions": {"B": STRING}}

    columns = mapped(schema, ("other.json", json.dumps(other)))

    assert {f.name: f.type for f in columns} == {"o": struct(**{word: LONG}), word: TEXT}


@pytest.mark.parametrize("words", ["definitions", "$defs"])
@pytest.mark.parametrize("name", ["default", "enum", "const", "examples"])
def test_a_definition_may_be_named_like_a_keyword(words: str, name: str) -> None:
    other = {
        **obj(a={"$ref": f"#/{words}/{name}"}),
        words: {name: HERE},
        "definitions": {"B": INTEGER, name: HERE},
    }

    columns = mapped({**obj(o=THERE), "definitions": {"B": STRING}}, ("other.json", json.dumps(other)))

    assert columns == struct(o=struct(a=LONG))


@pytest.mark.parametrize("word", ["default", "const", "examples"])
def test_what_looks_like_a_reference_in_a_value_is_none(word: str) -> None:
    value = {"$ref": "nowhere.json", "$id": "other.json", "$anchor": "x"}
    schema = {**obj(o=THERE), word: [value] if word == "examples" else value}

    assert mapped(schema, ("other.json", json.dumps(INTEGER))) == struct(o=LONG)


def test_a_reference_within_what_may_be_a_value_is_refused_and_never_led_elsewhere() -> None:
    """Below a keyword that nobody knows, `default` may be a name or a keyword."""
    other = {**obj(a={"$ref": "#/x/default/y"}), "x": {"default": {"y": HERE}}, "definitions": {"B": INTEGER}}

    with pytest.raises(SchemaRefusedError, match=r"stands in a value[\s\S]*field o\.a"):
        mapped({**obj(o=THERE), "definitions": {"B": STRING}}, ("other.json", json.dumps(other)))


def test_of_two_names_that_fit_the_longer_one_is_meant() -> None:
    schema = {"$id": "http://example.com/order.json", **obj(a={"$ref": "b/point.json"})}
    named = [("point.json", json.dumps(STRING)), ("b/point.json", json.dumps(INTEGER))]

    assert mapped(schema, *named) == mapped(schema, *reversed(named)) == struct(a=LONG)


def test_a_name_in_the_registry_means_more_than_an_id_within_another_subject() -> None:
    named = [("point.json", json.dumps(INTEGER)), ("other.json", json.dumps({"$id": "point.json", **STRING}))]

    assert mapped(obj(a={"$ref": "point.json"}), *named) == struct(a=LONG)
    assert mapped(obj(a={"$ref": "point.json"}), *reversed(named)) == struct(a=LONG)


def test_a_base_may_stand_at_every_level() -> None:
    """Every entity of a model often has the same base: an id, and when it was made."""
    base, levels = {"$ref": "#/$defs/base"}, 12
    parts = {
        f"d{n}": {"allOf": [base], **obj(child={"$ref": f"#/$defs/d{n + 1}"}, made=base)}
        for n in range(levels)
    }
    schema = {"$ref": "#/$defs/d0", "$defs": {**parts, f"d{levels}": base, "base": obj(id=STRING)}}

    outer: Type = mapped(schema)
    for _ in range(levels):
        assert isinstance(outer, Struct)
        assert [f.name for f in outer] == ["child", "id", "made"]
        outer = outer.fields[0].type
    assert outer == struct(id=TEXT)


def test_a_type_beside_a_union_is_that_of_all_its_branches() -> None:
    """As in Confluent's vectors nullable-reference.json and one-of-ordering.json."""
    parts = {"A": {"properties": {"x": STRING}}, "B": {"type": "object", "properties": {"y": INTEGER}}}
    refs = [{"$ref": f"#/definitions/{name}"} for name in parts]
    schema = {**obj(one={"type": "object", "oneOf": refs[:1]}, two={"type": "object", "anyOf": refs})}

    one, two = mapped({**schema, "definitions": parts})

    a, b = (Struct((Field(name, kind, True),)) for name, kind in (("x", TEXT), ("y", LONG)))
    union = Struct((Field("connect_union_field_0", a, True), Field("connect_union_field_1", b, True)))
    assert (one.type, two.type) == (a, union)


def test_a_tree_contains_itself() -> None:
    tree = {
        "allOf": [{"$ref": "#/$defs/base"}],
        **obj(left={"$ref": "#/$defs/tree"}, right={"$ref": "#/$defs/tree"}),
    }

    with pytest.raises(SchemaRefusedError, match="defs/tree contains itself"):
        mapped({"$ref": "#/$defs/tree", "$defs": {"tree": tree, "base": obj(id=STRING)}})


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"patternProperties": {"^x": INTEGER}, "additionalProperties": INTEGER}, Map(TEXT, LONG)),
        ({"patternProperties": {"^x": INTEGER}, "additionalProperties": False}, Map(TEXT, LONG)),
        ({"patternProperties": {"^x": HERE, "^y": STRING}}, Map(TEXT, TEXT)),
        ({"patternProperties": {"^x": {"type": "array", "items": STRING}}}, Map(TEXT, List(TEXT))),
    ],
)
def test_an_object_of_any_keys_is_a_map_where_its_values_are_alike(schema: Any, expected: Type) -> None:
    assert mapped({**obj(m={"type": "object", **schema}), "definitions": {"B": STRING}}) == struct(m=expected)


@pytest.mark.parametrize(
    "schema",
    [
        {"patternProperties": {"^x": INTEGER}, "additionalProperties": STRING},
        {"patternProperties": {"^x": INTEGER, "^y": STRING}},
        {"patternProperties": {"^x": INTEGER, "^y": INTEGER}, "additionalProperties": STRING},
    ],
)
def test_an_object_whose_values_depend_on_their_keys_is_refused(schema: Any) -> None:
    with pytest.raises(SchemaRefusedError, match=r"values of several types[\s\S]*field m"):
        mapped(obj(m={"type": "object", **schema}))


@pytest.mark.parametrize("required", [True, "a", [["a"]], {"a": 1}, 5])
def test_what_is_required_is_a_list_of_names(required: Any) -> None:
    with pytest.raises(SchemaRefusedError, match=r"`required` is no list of names[\s\S]*field o"):
        mapped(obj(o={**obj(a=STRING), "required": required}))


@pytest.mark.parametrize("word", ["$id", "id"])
@pytest.mark.parametrize("root", ["http://example.com/order.json", None])
def test_a_plain_name_names_a_part_and_never_takes_the_place_of_its_document(
    word: str, root: str | None
) -> None:
    """Drafts 4 to 7: JSON Schema Core 6, 8.2.3, "Location-independent identifiers"."""
    parts = {"i": {word: "#n", **INTEGER}, "t": {word: f"{root or ''}#t", **STRING}}
    fields = obj(
        a={"$ref": "#/definitions/i"}, b={"$ref": "#n"}, c={"$ref": "#t"}, d={"$ref": "#/definitions/t"}
    )
    whole = {**fields, "definitions": parts}

    columns = mapped({word: root, **whole} if root else whole)

    assert columns == struct(a=LONG, b=LONG, c=TEXT, d=TEXT)
