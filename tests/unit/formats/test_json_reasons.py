"""Bad JSON records: each is told by a code and by words that name the place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from frazil.errors import SchemaRefusedError
from frazil.formats.json.format import Json, JsonDecoder
from frazil.formats.protocol import KEY, VALUE, HalfSchemas, WriterSchema
from kit.formats.json_texts import BAD, SCHEMA

ID = 7


def decoder(schema: Any = None, strict: bool = False, framed: bool = True) -> JsonDecoder:
    writer = WriterSchema(ID, 1, json.dumps(schema or SCHEMA), "JSON")
    return JsonDecoder(HalfSchemas(VALUE, Json(), "s-value", (writer,), framed, strict=strict))


def framed(text: str) -> bytes:
    return b"\0" + ID.to_bytes(4, "big") + text.encode()


@pytest.mark.parametrize(("text", "code"), BAD)
def test_each_bad_text_has_its_reason(text: str, code: str) -> None:
    actual, reason = decoder().explain(framed(text))

    assert actual == code
    assert reason


def test_a_reason_names_the_place() -> None:
    assert decoder().explain(framed('{"i":1,"i8":128}')) == ("range", "i8: 128 is not within -128 and 127")


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"\0\0", "too_short"),
        (b'{"i":1}', "magic_byte"),
        (b'\0\0\0\0\x08{"i":1}', "schema_id"),
        (b'\0\0\0\0\x07{"i":1,"s":"\xff"}', "utf8"),
    ],
)
def test_what_is_wrong_before_the_text_is_told_first(raw: bytes, code: str) -> None:
    assert decoder().explain(raw)[0] == code


def test_bare_records_have_no_header() -> None:
    assert decoder(framed=False).explain(b"{}") == ("required", '(root): "i" is a required property')


def test_other_rules_count_where_validation_is_strict() -> None:
    schema = {"type": "object", "properties": {"s": {"type": "string", "maxLength": 1}}}
    text = framed('{"s":"ab"}')

    assert decoder(schema, strict=True).explain(text)[0] == "maxLength"
    assert decoder(schema).explain(text)[0] == "value"


def test_rules_that_can_not_be_applied_are_told_before_anything_is_read() -> None:
    schema = {"type": "object", "properties": {"s": {"type": "string", "pattern": "("}}}

    with pytest.raises(SchemaRefusedError, match="Records can't be validated"):
        decoder(schema, strict=True)
    assert decoder(schema).explain(framed('{"s":5}'))[0] == "type"


def test_a_key_that_is_no_object_is_a_column_named_key() -> None:
    writer = WriterSchema(ID, 1, '{"type":"integer"}', "JSON")

    columns = JsonDecoder(HalfSchemas(KEY, Json(), "s-key", (writer,))).columns

    assert [f.name for f in columns] == ["key"]
