"""What a schema refuses beyond types, by the verifier, beside what a library says: `validate: strict`."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import jsonschema
import pytest

from frazil_verify.findings import UnverifiableError
from frazil_verify.values.strict.rules import rules_of

VALUES: list[Any] = [
    None, True, False, 0, 1, 1.0, -3, 7.5, 2**70, "", "a", "abc", "ABC-12", "é", "日本語",
    [], [1], [1, 1.0], [1, True], ["a", "b"], [{"a": 1}, {"a": 1.0}], {}, {"a": 1}, {"a": "x", "b": None},
    {"b": 2, "x-y": 3}, {"a": {"a": {"a": 1}}}, {"kind": "card", "number": "12"}, {"kind": "cash"},
]  # fmt: skip
NODES: list[Any] = [
    True, False, {}, {"type": "integer"}, {"type": ["string", "null"]}, {"type": "number", "minimum": 1},
    {"exclusiveMinimum": 0, "maximum": 7.5}, {"exclusiveMaximum": 1}, {"multipleOf": 3}, {"minLength": 2},
    {"maxLength": 1}, {"pattern": "^[A-Z]{3}-\\d+$"}, {"pattern": "b"}, {"pattern": "^a$"},
    {"enum": [1, "a", None]},
    {"const": True}, {"const": {"a": 1}}, {"minItems": 1, "maxItems": 1}, {"uniqueItems": True},
    {"required": ["a"]}, {"properties": {"a": {"type": "integer"}}, "additionalProperties": False},
    {"patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": {"type": "string"}},
    {"propertyNames": {"maxLength": 1}}, {"minProperties": 1, "maxProperties": 1},
    {"items": {"type": "string"}},
    {"contains": {"const": 1}}, {"dependentRequired": {"a": ["b"]}},
    {"if": {"properties": {"kind": {"const": "card"}}, "required": ["kind"]},
     "then": {"required": ["number"]}, "else": {"not": {"required": ["number"]}}},
    {"$ref": "#/$defs/deep"}, {"$ref": "#", "title": "the whole"},
    {"format": "email", "connect.type": "int8"},
]  # fmt: skip
DEEP = {"type": "object", "properties": {"a": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/deep"}]}}}


def drawn(chance: Random, depth: int = 2) -> Any:
    """A schema of several rules."""
    if depth == 0 or chance.random() < 0.4:
        return chance.choice([node for node in NODES if node != {"$ref": "#", "title": "the whole"}])
    word = chance.choice(("allOf", "anyOf", "oneOf", "not"))
    parts = [drawn(chance, depth - 1) for _ in range(chance.randrange(1, 4))]
    return {word: parts[0] if word == "not" else parts}


def agree(schema: Any) -> None:
    whole = {**schema, "$defs": {"deep": DEEP}} if isinstance(schema, dict) else schema
    validator = jsonschema.Draft202012Validator(whole)
    fits = rules_of(json.dumps(whole))
    for value in VALUES:
        assert fits(value) == validator.is_valid(value), (schema, value)


@pytest.mark.parametrize(
    "node", [node for node in NODES if node != {"$ref": "#", "title": "the whole"}], ids=str
)
def test_a_rule_says_of_values_what_a_library_says(node: Any) -> None:
    agree(node)


@pytest.mark.parametrize("number", range(40))
def test_rules_together_say_what_a_library_says(number: int) -> None:
    agree(drawn(Random(number)))


def test_a_schema_within_itself_is_followed() -> None:
    agree({"properties": {"a": {"$ref": "#"}}, "not": {"type": "integer"}})


def test_a_text_ends_behind_its_last_line_break() -> None:
    """The library takes Python's own `$` for that of a schema."""
    assert rules_of('{"pattern": "^a$"}')("a")
    assert not rules_of('{"pattern": "^a$"}')("a\n")
    assert rules_of('{"pattern": "^[a$]$"}')("$")


def test_beside_a_reference_an_old_schema_says_nothing() -> None:
    old = {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"t": {"type": "string"}}}
    fits = rules_of(json.dumps({**old, "properties": {"a": {"$ref": "#/definitions/t", "maxLength": 1}}}))

    assert fits({"a": "long"})
    assert not fits({"a": 1})


@pytest.mark.parametrize(
    "node",
    [
        {"unevaluatedProperties": False}, {"items": [{"type": "string"}]}, {"prefixItems": [True]},
        {"pattern": "\\p{L}"}, {"pattern": "a(?=b)"}, {"pattern": "\\s"}, {"multipleOf": 0.1},
        {"$ref": "other.json"}, {"$ref": "#/nowhere"}, {"minimum": 1, "exclusiveMinimum": True},
        {"$schema": "http://json-schema.org/draft-04/schema#"}, {"contains": True, "minContains": 2},
        {"$schema": "http://json-schema.org/draft-07/schema#", "format": "email"}, {"nobody": 1},
    ],
    ids=str,
)  # fmt: skip
def test_a_rule_that_is_not_known_is_named(node: Any) -> None:
    with pytest.raises(UnverifiableError, match="validate: strict asks for"):
        rules_of(json.dumps(node))
