"""When two schemas describe the same records, what is said when they do not, and files that hold none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from frazil.errors import SpecError
from frazil.formats.protocol import WriterSchema
from frazil.formats.registry.wanted import WantedSchema, differences, read_schema

PLAIN: dict[str, Any] = {
    "type": "record",
    "name": "n.A",
    "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": ["null", "string"], "default": None}],
}


def changed(**fields: Any) -> dict[str, Any]:
    return {**PLAIN, "fields": [{**f, **fields.get(f["name"], {})} for f in PLAIN["fields"]]}


def differences_of(registered: dict[str, Any], wanted: dict[str, Any], kind: str = "AVRO") -> list[str]:
    return differences(
        WriterSchema(1, 1, json.dumps(registered), kind), WantedSchema(kind, json.dumps(wanted))
    )


@pytest.mark.parametrize(
    "other",
    [
        PLAIN,
        {**PLAIN, "doc": "Words.", "connect.name": "n.A"},
        {**PLAIN, "name": "A", "namespace": "n"},
        changed(a={"type": {"type": "int", "arg.properties": {}}, "doc": "More words."}),
    ],
)
def test_texts_and_notes_make_no_difference(other: dict[str, Any]) -> None:
    assert differences_of(PLAIN, other) == []


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (changed(a={"default": None}), "a default (field): not in the registry, null wanted"),
        (changed(a={"type": "long"}), 'a: "int" in the registry, "long" wanted'),
        (changed(b={"default": "x"}), 'b default (field): null in the registry, "x" wanted'),
        ({**PLAIN, "name": "B"}, '(root): "record n.A" in the registry, "record B" wanted'),
        ({**PLAIN, "fields": PLAIN["fields"][:1]}, 'b: ["null", "string"] in the registry, not wanted'),
        (
            changed(a={"type": {"type": "int", "logicalType": "date"}}),
            'a logicalType: not in the registry, "date" wanted',
        ),
        (
            {**PLAIN, "fields": PLAIN["fields"][::-1]},
            "a (position): 0 in the registry, 1 wanted",
        ),
    ],
)
def test_a_difference_is_named_with_its_path(other: dict[str, Any], expected: str) -> None:
    assert expected in differences_of(PLAIN, other)


ORDER: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "description": {"type": ["string", "null"]},
        "lines": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string"}}}},
    },
    "required": ["id", "lines"],
}


def order(**properties: Any) -> dict[str, Any]:
    return {**ORDER, "properties": {**ORDER["properties"], **properties}}


@pytest.mark.parametrize(
    "other",
    [
        dict(reversed(ORDER.items())),
        {**ORDER, "description": "Words.", "$comment": "More.", "$id": "order.json"},
        {**ORDER, "required": ["lines", "id"]},
        order(description={"type": ["null", "string"], "description": "Words."}),
    ],
)
def test_order_and_texts_make_no_difference_in_json_schema(other: dict[str, Any]) -> None:
    assert differences_of(ORDER, other, "JSON") == []


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (order(id={"type": "number"}), 'properties.id.type: "integer" in the registry, "number" wanted'),
        ({**ORDER, "required": ["id"]}, 'required: ["id", "lines"] in the registry, ["id"] wanted'),
        (order(description={"type": "string"}), 'properties.description.type: ["null", "string"]'),
        ({**ORDER, "additionalProperties": False}, "additionalProperties: not in the registry, false wanted"),
        (order(flag={}), "properties.flag: not in the registry, {} wanted"),
    ],
)
def test_a_difference_in_json_schema_is_named_with_its_path(other: dict[str, Any], expected: str) -> None:
    assert any(line.startswith(expected) for line in differences_of(ORDER, other, "JSON"))


PROTO = """syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
message Order { int64 id = 1; repeated Line lines = 2; google.protobuf.Timestamp at = 3; Kind kind = 4; }
message Line { string sku = 1; }
enum Kind { NEW = 0; PAID = 1; }
"""


def differences_in_proto(old: str, new: str) -> list[str]:
    return differences(
        WriterSchema(1, 1, PROTO, "PROTOBUF"), WantedSchema("PROTOBUF", PROTO.replace(old, new))
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("message Line", "// Words.\nmessage  Line"),
        ("repeated Line", "repeated shop.Line"),
        ("package shop;", 'package shop;\noption java_package = "com.shop";'),
    ],
)
def test_layout_and_comments_make_no_difference_in_protobuf(old: str, new: str) -> None:
    assert differences_in_proto(old, new) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("id = 1", "id = 7", "message_type.Order.field.id.number: 1 in the registry, 7 wanted"),
        ("int64 id", "int32 id", 'message_type.Order.field.id.type: "TYPE_INT64" in the registry'),
        ("PAID = 1", "PAID = 2", "enum_type.Kind.value.PAID.number: 1 in the registry, 2 wanted"),
        ("repeated Line lines", "Line lines", 'field.lines.label: "LABEL_REPEATED" in the registry'),
        ("message Line", "message None {}\nmessage Line", "message_type.Line (position): 1 in the registry"),
    ],
)
def test_a_difference_in_protobuf_is_named_with_its_path(old: str, new: str, expected: str) -> None:
    assert any(expected in line for line in differences_in_proto(old, new))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.avsc", "{", "a.avsc: this is no Avro schema: Expecting property name"),
        ("a.avsc", '{"name": "a"}', "a.avsc: this is no Avro schema: 'type' is missing"),
        ("a.avsc", '{"type": "record", "name": "a", "fields": [{"name": "x", "type": "y"}]}', "no type y"),
        ("a.json", '{"type": "strin"}', 'a.json: this is no JSON schema: "strin" is not valid'),
        ("a.json", '{"$schema": "file:///etc/hostname"}', "a.json: this is no JSON schema: "),
        ("a.proto", "message A {", "a.proto: this is no Protobuf schema: "),
        ("a.proto", 'syntax = "proto3"; import "b.proto";', "b.proto"),
    ],
)
def test_a_file_that_holds_no_schema_is_named_with_the_reason(
    tmp_path: Path, name: str, text: str, expected: str
) -> None:
    file = tmp_path / name
    file.write_text(text)

    with pytest.raises(SpecError) as caught:
        read_schema(file)

    assert expected in str(caught.value)
    assert str(file) in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"no\.avsc"):
        read_schema(tmp_path / "no.avsc")


def test_a_file_that_is_mended_holds_a_schema(tmp_path: Path) -> None:
    file = tmp_path / "a.avsc"
    file.write_text(json.dumps(PLAIN).replace("int", "itn"))
    with pytest.raises(SpecError) as refused:
        read_schema(file)

    file.write_text(json.dumps(PLAIN))

    assert refused.value.todo == "Fix the file."
    assert differences_of(PLAIN, json.loads(read_schema(file).text)) == []
