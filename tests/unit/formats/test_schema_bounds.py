"""A schema may be as large as a table can be planned with; beyond that it is refused at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pb2 import DescriptorProto

from frazil.errors import SchemaRefusedError
from frazil.formats import protocol
from frazil.formats.evolution import verdicts
from frazil.formats.kinds import SCHEMA_FORMATS
from frazil.formats.logical import Field, Primitive, Struct
from frazil.formats.protocol import MAX_DEPTH, MAX_FIELDS, VALUE, HalfSchemas, WriterSchema

LEVELS = 40
"""Of schemas that come to a million million fields."""
PROTO3 = 'syntax = "proto3"; '
Text = Callable[[int], str]


def avro(*fields: dict[str, Any], name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


def avro_doubled(levels: int) -> str:
    kind: Any = "string"
    for n in range(levels):
        again = f"R{n - 1}" if n else "string"
        kind = avro({"name": "a", "type": kind}, {"name": "b", "type": again}, name=f"R{n}")
    return json.dumps(kind)


def avro_deep(levels: int) -> str:
    kind: Any = "string"
    for n in range(levels):
        kind = avro({"name": "a", "type": kind}, name=f"R{n}")
    return json.dumps(kind)


def avro_wide(columns: int) -> str:
    return json.dumps(avro(*({"name": f"f{n}", "type": "int"} for n in range(columns))))


def defined(levels: int, level: Callable[[dict[str, str]], Any]) -> str:
    """A JSON Schema whose definitions use the next one as said."""
    last = {f"D{levels}": {"type": "object", "properties": {"x": {"type": "string"}}}}
    others = {f"D{n}": level({"$ref": f"#/$defs/D{n + 1}"}) for n in range(levels)}
    return json.dumps({"$ref": "#/$defs/D0", "$defs": {**others, **last}})


def json_doubled(levels: int) -> str:
    return defined(levels, lambda to: {"type": "object", "properties": {"a": to, "b": to}})


def json_all_of(levels: int) -> str:
    return defined(levels, lambda to: {"allOf": [to, to]})


def json_one_of(levels: int) -> str:
    return defined(levels, lambda to: {"oneOf": [to, {"type": "array", "items": to}]})


def json_deep(levels: int) -> str:
    return defined(levels, lambda to: {"type": "object", "properties": {"a": to}})


def json_wide(columns: int) -> str:
    return json.dumps(
        {"type": "object", "properties": {f"f{n}": {"type": "integer"} for n in range(columns)}}
    )


def proto_doubled(levels: int) -> str:
    parts = (f"message M{n} {{ M{n + 1} a = 1; M{n + 1} b = 2; }}" for n in range(levels))
    return f"{PROTO3}{' '.join(parts)} message M{levels} {{ int32 x = 1; }}"


def proto_oneofs(levels: int) -> str:
    parts = (f"message M{n} {{ oneof o {{ M{n + 1} a = 1; M{n + 1} b = 2; }} }}" for n in range(levels))
    return f"{PROTO3}{' '.join(parts)} message M{levels} {{ int32 x = 1; }}"


def proto_deep(levels: int) -> str:
    parts = (f"message M{n} {{ M{n + 1} a = 1; }}" for n in range(levels))
    return f"{PROTO3}{' '.join(parts)} message M{levels} {{ int32 x = 1; }}"


def proto_wide(columns: int) -> str:
    return f"{PROTO3} message M {{ {' '.join(f'int32 f{n} = {n + 1};' for n in range(columns))} }}"


def columns(kind: str, text: str) -> Struct:
    form = SCHEMA_FORMATS[kind]
    return HalfSchemas(VALUE, form, "t-value", (WriterSchema(1, 1, text, kind),)).columns


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("AVRO", avro_doubled),
        ("JSON", json_doubled),
        ("JSON", json_one_of),
        ("PROTOBUF", proto_doubled),
        ("PROTOBUF", proto_oneofs),
    ],
)
def test_what_doubles_with_each_level_is_refused_for_its_fields(
    monkeypatch: pytest.MonkeyPatch, kind: str, text: Text
) -> None:
    most = MAX_FIELDS if kind == "AVRO" else 1_000
    monkeypatch.setattr(protocol, "MAX_FIELDS", most)

    with pytest.raises(SchemaRefusedError, match=rf"more than {most} nested fields") as refused:
        columns(kind, text(LEVELS))
    assert "subject t-value, field " in refused.value.where


def test_bases_that_double_are_refused_for_their_references() -> None:
    with pytest.raises(SchemaRefusedError, match=r"leads to more than \d+ references"):
        columns("JSON", json_all_of(LEVELS))


@pytest.mark.parametrize(
    ("kind", "text"), [("AVRO", avro_deep), ("JSON", json_deep), ("PROTOBUF", proto_deep)]
)
def test_levels_are_bounded_and_the_bound_is_said(kind: str, text: Text) -> None:
    assert columns(kind, text(MAX_DEPTH - 4))

    with pytest.raises(SchemaRefusedError, match=rf"more than {MAX_DEPTH}|deeper than {MAX_DEPTH} levels"):
        columns(kind, text(MAX_DEPTH + 2))


@pytest.mark.parametrize(
    ("kind", "text"), [("AVRO", avro_wide), ("JSON", json_wide), ("PROTOBUF", proto_wide)]
)
def test_columns_are_bounded_and_the_bound_is_said(
    monkeypatch: pytest.MonkeyPatch, kind: str, text: Text
) -> None:
    monkeypatch.setattr(protocol, "MAX_FIELDS", 300)
    assert len(columns(kind, text(299)).fields) == 299

    with pytest.raises(SchemaRefusedError, match="more than 300 nested fields"):
        columns(kind, text(301))


@pytest.mark.parametrize("names", ["Same", "Other"])
def test_unions_in_unions_are_compared_once_a_level(names: str) -> None:
    """Two versions of six levels took 7 s, and each further level six times as long."""
    versions = []
    for number, name in enumerate(("Same", names), 1):
        kind: Any = "string"
        for n in range(LEVELS):
            kind = [avro({"name": "a", "type": kind}, name=f"{name}{n}"), "int"]
        text = json.dumps(avro({"name": "a", "type": kind}))
        versions.append(WriterSchema(number, number, text, "AVRO"))

    decoder = SCHEMA_FORMATS["AVRO"].decoder(
        HalfSchemas(VALUE, SCHEMA_FORMATS["AVRO"], "t-value", tuple(versions))
    )
    assert decoder.writers == (2, 1)


class Name(str):
    """One that tells how often it is compared."""

    __slots__ = ()
    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str.__eq__(self, other)


def test_a_table_of_many_columns_is_compared_once_a_column() -> None:
    """At 20,000 columns the comparison took 18 s of each landing."""
    one, other = (Struct(tuple(Field(Name(f"f{n}"), Primitive("int")) for n in range(500))) for _ in range(2))
    Name.compared = 0

    assert verdicts(one, other, ()) == []
    assert Name.compared < 10 * 500


def test_a_message_is_copied_as_often_whatever_it_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a copy tells which oneofs stand for proto3's `optional`. One a field took 12 s for 4,000."""
    copies = []

    def copy() -> DescriptorProto:
        copies.append(1)
        return DescriptorProto()

    monkeypatch.setattr(descriptor_pb2, "DescriptorProto", copy)

    assert [copies_of(fields, copies) for fields in (1, 400)] == [2, 2]


def copies_of(optional: int, copies: list[int]) -> int:
    fields = " ".join(f"optional int32 f{n} = {n + 1};" for n in range(optional))
    copies.clear()
    assert len(columns("PROTOBUF", f"{PROTO3} message M {{ {fields} }}").fields) == optional
    return len(copies)
