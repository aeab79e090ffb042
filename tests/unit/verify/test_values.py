"""Bytes of each format become the values that docs/types.md names, written here by hand."""

from __future__ import annotations

import base64
import io
import json
import math
from contextlib import nullcontext
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from google.protobuf import duration_pb2, timestamp_pb2

from frazil_verify.log.registry import Schema, Schemas
from frazil_verify.request import Half
from frazil_verify.table.canonical import values_of
from frazil_verify.table.metadata import Column
from frazil_verify.values.avro import AvroReader
from frazil_verify.values.avro_schema import has_defaults
from frazil_verify.values.bad import BadRecordError, NotComparedError
from frazil_verify.values.half import filled
from frazil_verify.values.json import JsonReader
from frazil_verify.values.protobuf import ProtobufReader, indexes


def struct(**types: Any) -> dict[str, Any]:
    fields = [{"id": at, "name": n, "type": t, "required": False} for at, (n, t) in enumerate(types.items())]
    return {"type": "struct", "fields": fields}


def avro(fields: list[dict[str, Any]]) -> Schema:
    return Schema(1, "AVRO", json.dumps({"type": "record", "name": "R", "fields": fields}), {})


def named(name: str, references: dict[str, Schema], **types: str) -> Schema:
    fields = [{"name": field, "type": kind} for field, kind in types.items()]
    text = json.dumps({"type": "record", "name": name, "fields": fields})
    return Schema(1, "AVRO", text, references)


def written(schema: Schema, value: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(schema.text)), value)
    return out.getvalue()


@pytest.mark.parametrize(
    ("kind", "column", "sent", "expected"),
    [
        ("int", "int", -1, -1),
        ("int", "long", 7, 7),
        ("double", "double", math.nan, math.nan),
        ("string", "string", "ä", "ä"),
        ({"type": "long", "logicalType": "timestamp-millis"}, "timestamptz", 1, 1000),
        ({"type": "long", "logicalType": "timestamp-micros"}, "timestamptz", 1, 1),
        ({"type": "int", "logicalType": "time-millis"}, "long", 5, 5000),
        ({"type": "int", "logicalType": "date"}, "date", -1, -1),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            "decimal(9, 2)", Decimal("-1.25"), -125,
        ),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "string", "B", "B"),
        ({"type": "fixed", "name": "F", "size": 2}, "binary", b"ab", b"ab"),
        (["null", "long"], "long", None, None),
        ({"type": "array", "items": "int"}, {"type": "list", "element": "int"}, [1, 2], (1, 2)),
        (
            {"type": "map", "values": "int"},
            {"type": "map", "key": "string", "value": "int"}, {"b": 1, "a": 2}, (("a", 2), ("b", 1)),
        ),
        (["null", "int", "string"], struct(int="int", string="string"), "x", (None, "x")),
        (["null", "int", "string"], struct(int="int", string="string"), 3, (3, None)),
    ],
)  # fmt: skip
def test_avro(kind: Any, column: Any, sent: Any, expected: Any) -> None:
    schema = avro([{"name": "f", "type": kind}])

    (value,) = AvroReader(schema, schema, struct(f=column))(written(schema, {"f": sent}))

    assert value == expected or (value != value and expected != expected)


def test_a_field_that_the_writer_lacks_has_the_default_of_the_newest_schema() -> None:
    writer = avro([{"name": "a", "type": "int"}])
    newest = avro([{"name": "b", "type": "string", "default": "d"}, {"name": "c", "type": ["null", "int"]}])

    wanted = struct(b="string", c="int")

    assert AvroReader(writer, newest, wanted)(b"\x02") == ("d", None)
    assert AvroReader(writer, newest, wanted, defaults=False)(b"\x02") == (None, None)
    assert [has_defaults(each) for each in (writer, newest)] == [False, True]


def test_a_field_that_was_renamed_is_read_by_its_alias() -> None:
    writer = avro([{"name": "old", "type": "int"}])
    newest = avro([{"name": "new", "type": "int", "aliases": ["old"]}])

    assert AvroReader(writer, newest, struct(new="int"))(b"\x04") == (2,)


@pytest.mark.parametrize(
    ("own", "today", "values"),
    [
        ("x", {"x": [], "y": ["x"]}, (None, 1)),
        ("xy", {"y": ["x"]}, (2,)),
        ("xy", {"x": [], "y": ["x"]}, (1, 2)),
        ("xy", {"x": ["y"], "y": ["x"]}, (2, 1)),
        ("xy", {"y": ["x"], "z": ["y"]}, (1, 2)),
        ("xyz", {"y": ["x"], "z": ["y"]}, (2, 3)),
        ("xy", {"z": ["x", "y"]}, (1,)),
        ("x", {"y": ["x"], "z": ["x"]}, (1, None)),
    ],
)
def test_an_alias_renames_the_writers_field_which_fills_one_field_only(
    own: str, today: dict[str, list[str]], values: tuple[int | None, ...]
) -> None:
    writer = avro([{"name": name, "type": "int"} for name in own])
    optional = {"type": ["null", "int"], "default": None}
    newest = avro([{"name": name, **optional, "aliases": former} for name, former in today.items()])

    reader = AvroReader(writer, newest, struct(**dict.fromkeys(today, "int")))
    assert reader(bytes([2, 4, 6][: len(own)])) == values


@pytest.mark.parametrize("payload", [b"", b"\x02\x00"], ids=["truncated", "with bytes behind it"])
def test_avro_that_is_not_one_whole_record_is_bad(payload: bytes) -> None:
    schema = avro([{"name": "f", "type": "int"}])

    with pytest.raises(BadRecordError):
        AvroReader(schema, schema, struct(f="int"))(payload)


def test_a_type_that_the_verifier_does_not_know_is_not_compared() -> None:
    schema = avro([{"name": "f", "type": {"type": "array", "items": "int"}}])

    with pytest.raises(NotComparedError):
        AvroReader(schema, schema, struct(f="string"))


DECIMAL = {
    "type": "string", "title": "org.apache.kafka.connect.data.Decimal", "connect.type": "bytes",
    "connect.parameters": {"scale": "2"},
}  # fmt: skip

LEG = {"type": "object", "properties": {"km": {"type": "integer"}}, "required": ["km"]}
UNION = {"anyOf": [{"type": "null"}, {"type": "integer"}, {"type": "string"}, LEG]}
COUNTS = {"type": "object", "additionalProperties": {"type": "integer"}}
BRANCHES = struct(connect_union_field_0="long", connect_union_field_1="string", Leg=struct(km="long"))


@pytest.mark.parametrize(
    ("node", "column", "sent", "expected"),
    [
        ({"type": "integer"}, "long", 5, 5),
        ({"type": "number"}, "double", 1, 1.0),
        ({"type": "number", "connect.type": "float32"}, "float", 0.1, 0.10000000149011612),
        ({"type": "string"}, "string", "x", "x"),
        ({"type": "string", "connect.type": "bytes"}, "binary", "YWI=", b"ab"),
        ({"title": "org.apache.kafka.connect.data.Timestamp", "type": "integer"}, "timestamptz", 3, 3000),
        ({"title": "org.apache.kafka.connect.data.Time", "type": "integer"}, "long", 3, 3000),
        ({"oneOf": [{"type": "null"}, {"type": "integer"}]}, "long", None, None),
        (DECIMAL, "decimal(9, 2)", base64.b64encode(b"\xff\x83").decode(), -125),
        ({**DECIMAL, "type": "number"}, "decimal(9, 2)", -1.25, -125),
        ({**DECIMAL, "type": "number"}, "decimal(9, 2)", 7, 700),
        (UNION, BRANCHES, 7, (7, None, None)),
        (UNION, BRANCHES, "x", (None, "x", None)),
        (UNION, BRANCHES, {"km": 3}, (None, None, (3,))),
        (UNION, BRANCHES, None, None),
        ({"type": ["integer", "string"]}, struct(a="long", b="string"), "x", (None, "x")),
        ({"type": "array", "items": {"type": "integer"}}, {"type": "list", "element": "long"}, [1], (1,)),
        (
            {"type": "object", "properties": {"n": {"type": "integer"}}},
            struct(n="long"), {"n": 4, "other": 1}, (4,),
        ),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}},
            {"type": "map", "key": "string", "value": "long"}, {"b": 1, "a": 2}, (("a", 2), ("b", 1)),
        ),
    ],
)  # fmt: skip
def test_json(node: Any, column: Any, sent: Any, expected: Any) -> None:
    schema = Schema(1, "JSON", json.dumps({"type": "object", "properties": {"f": node}}), {})

    assert JsonReader(schema, struct(f=column))(json.dumps({"f": sent}).encode()) == (expected,)


@pytest.mark.parametrize(
    ("node", "column", "sent"),
    [
        ({**DECIMAL, "type": "number"}, "decimal(9, 2)", "1.255"),
        ({**DECIMAL, "type": "number"}, "decimal(9, 2)", "10000000"),
        ({"type": "string", "connect.type": "bytes"}, "binary", '"YWI=YWI="'),
        ({"enum": ["RED", "BLUE"]}, "string", '"PINK"'),
        ({"const": "RED"}, "string", '"BLUE"'),
        ({"type": "integer"}, "long", "null"),
        ({"type": "array", "items": {"type": "integer"}}, {"type": "list", "element": "long"}, "[null]"),
        (LEG, struct(km="long"), "{}"),
        (UNION, BRANCHES, "true"),
        (UNION, BRANCHES, '{"m": 3}'),
        (COUNTS, {"type": "map", "key": "string", "value": "long"}, '{"a": 1, "a": 2}'),
        (COUNTS, {"type": "map", "key": "string", "value": "long"}, '{"a": null}'),
    ],
)  # fmt: skip
def test_json_that_is_not_as_the_schema_says_is_bad(node: Any, column: Any, sent: str) -> None:
    schema = Schema(1, "JSON", json.dumps({"properties": {"f": node}, "required": ["f"]}), {})

    with pytest.raises(BadRecordError):
        JsonReader(schema, struct(f=column))(f'{{"f": {sent}}}'.encode())


def test_of_a_key_of_an_object_that_stands_twice_the_last_value_counts() -> None:
    schema = Schema(1, "JSON", json.dumps({"properties": {"f": LEG, "counts": COUNTS}}), {})
    columns = struct(f=struct(km="long"), counts={"type": "map", "key": "string", "value": "long"})

    read = JsonReader(schema, columns)(b'{"f": {"km": 1, "km": 2}, "counts": {}}')

    assert read == ((2,), ())


def test_of_a_key_that_stands_twice_with_a_value_that_does_not_fit_nothing_is_known() -> None:
    schema = Schema(1, "JSON", json.dumps({"properties": {"f": LEG}}), {})

    with pytest.raises(NotComparedError):
        JsonReader(schema, struct(f=struct(km="long")))(b'{"f": {"km": "far", "km": 2}}')


@pytest.mark.parametrize(
    "text", ['{"f": 1.0}', '{"f": true}', '{"f": 1} x', "[]", '{"f": 9223372036854775808}']
)
def test_json_that_is_no_such_record_is_bad(text: str) -> None:
    schema = Schema(1, "JSON", json.dumps({"properties": {"f": {"type": "integer"}}}), {})

    with pytest.raises(BadRecordError):
        JsonReader(schema, struct(f="long"))(text.encode())


PROTO = """
syntax = "proto3";
import "google/protobuf/timestamp.proto";
message Other { string x = 1; }
message Order {
  int32 n = 1; optional string note = 2; google.protobuf.Timestamp at = 3; repeated int64 ids = 4;
  map<string, int32> counts = 5; Colour colour = 6; oneof kind { string text = 7; int32 number = 8; }
}
enum Colour { RED = 0; BLUE = 1; }
"""


ENTRIES = {
    "type": "array",
    "items": {"properties": {"key": {"type": "integer"}, "value": {"type": "string"}}},
}
MAP = {"type": "map", "key": "long", "value": "string"}


@pytest.mark.parametrize(
    ("node", "sent"),
    [
        (ENTRIES, [{"value": "a"}]),
        (ENTRIES, [{"key": None, "value": "a"}]),
        (ENTRIES, [{"key": 1, "value": "a"}, {"key": 1, "value": "b"}]),
        (ENTRIES, {"1": "a"}),
        ({"additionalProperties": {"type": "string"}}, ["a"]),
    ],
)
def test_what_is_no_map_in_json_is_bad(node: Any, sent: Any) -> None:
    schema = Schema(1, "JSON", json.dumps({"properties": {"f": node}}), {})

    with pytest.raises(BadRecordError):
        JsonReader(schema, struct(f=MAP))(json.dumps({"f": sent}).encode())


def test_a_schema_knows_the_types_that_its_references_refer_to() -> None:
    city = named("geo.City", {}, n="int")
    address = named("geo.Address", {"geo.City": city}, city="geo.City")
    person = named("Person", {"geo.Address": address}, home="geo.Address")

    reader = AvroReader(person, person, struct(home=struct(city=struct(n="int"))))

    assert reader(b"\x04") == (((2,),),)


def test_protobuf() -> None:
    at = timestamp_pb2.Timestamp(seconds=1, nanos=2999).SerializeToString()
    payload = b"\x02\x02" + b"\x08\x05" + b"\x1a" + bytes([len(at)]) + at + b"\x22\x02\x01\x02"
    payload += b"\x2a\x05\x0a\x01a\x10\x07" + b"\x30\x01" + b"\x40\x09"
    wanted = struct(
        n="int", note="string", at="timestamptz", ids={"type": "list", "element": "long"},
        counts={"type": "map", "key": "string", "value": "int"}, colour="string",
        kind=struct(text="string", number="int"),
    )  # fmt: skip

    schema = Schema(1, "PROTOBUF", PROTO, {})
    row = ProtobufReader(schema, schema, wanted, "")(payload)

    assert row == (5, None, 1_000_002, (1, 2), (("a", 7),), "BLUE", (None, 9))


SPAN = """syntax = "proto3"; import "google/protobuf/duration.proto";
message R { google.protobuf.Duration d = 1; }"""


@pytest.mark.parametrize(
    ("seconds", "nanos", "micros"),
    [(2, 1_999, 2_000_001), (-2, -1_999, -2_000_001), (0, -1_000, -1), (2, -1, None), (0, 10**9, None),
     (2**40, 0, None)],
)  # fmt: skip
def test_of_a_duration_seconds_and_nanoseconds_agree(seconds: int, nanos: int, micros: int | None) -> None:
    inner = duration_pb2.Duration(seconds=seconds, nanos=nanos).SerializeToString()
    schema = Schema(1, "PROTOBUF", SPAN, {})
    read = ProtobufReader(schema, schema, struct(d="long"), "")
    payload = b"\0\x0a" + bytes([len(inner)]) + inner

    with nullcontext() if micros is not None else pytest.raises(BadRecordError):
        assert read(payload) == (micros,)


@pytest.mark.parametrize(
    ("written", "path"), [(b"\x00", [0]), (b"\x02\x04", [2]), (b"\x04\x02\x00", [1, 0]), (b"\x02\x00", [0])]
)
def test_message_indexes_in_all_their_spellings(written: bytes, path: list[int]) -> None:
    assert indexes(written + b"rest") == (path, b"rest")


def test_arrays_of_a_slice_become_the_same_values_as_the_records() -> None:
    kind = {"type": "list", "element": struct(m="timestamptz", d="decimal(9, 2)")}
    inner = pa.struct(
        [
            pa.field("m", pa.timestamp("us", "UTC"), metadata={"PARQUET:field_id": "0"}),
            pa.field("d", pa.decimal128(9, 2), metadata={"PARQUET:field_id": "1"}),
        ]
    )
    array = pa.array([None, [{"m": 5, "d": Decimal("1.5")}, None], []], pa.list_(inner))

    assert values_of(array.slice(1), kind) == [((5, 150), None), ()]


def test_a_column_of_a_message_that_it_does_not_know_is_named_and_the_others_are_compared() -> None:
    text = """syntax = "proto3"; import "google/protobuf/struct.proto";
        message Order { int32 n = 1; google.protobuf.Struct free = 2; }"""
    answer = {"id": 1, "schemaType": "PROTOBUF", "schema": text}
    columns = [Column(1, "n", "int", False), Column(2, "free", "string", False)]

    known = filled(Half(format="registry", subject="s"), Schemas(lambda _: answer), columns, "", "value", {})

    assert [column.name for column in known.columns] == ["n"]
    assert known.refused == {"free": "google.protobuf.Struct as string"}


@pytest.mark.parametrize(
    ("node", "sent", "expected"),
    [
        ({"type": "integer", "title": "io.debezium.time.MicroTimestamp"}, 1_500, 1_500),
        ({"type": "integer", "title": "io.debezium.time.Timestamp"}, 1_500, 1_500_000),
        ({"type": "integer", "connect.parameters": {"flink.type": "timestamp"}}, 1_500, 1_500_000),
    ],
)
def test_moments_in_json_are_by_their_titles(node: Any, sent: int, expected: int) -> None:
    schema = Schema(1, "JSON", json.dumps({"properties": {"f": node}}), {})

    assert JsonReader(schema, struct(f="timestamp"))(json.dumps({"f": sent}).encode()) == (expected,)


def test_a_moment_in_json_that_is_written_otherwise_is_not_compared() -> None:
    zoned = {"type": "string", "title": "org.example.ZonedTimestamp"}

    with pytest.raises(NotComparedError):
        JsonReader(Schema(1, "JSON", json.dumps({"properties": {"f": zoned}}), {}), struct(f="timestamptz"))


def order(namespace: str, field: str) -> dict[str, Any]:
    fields = [{"name": field, "type": "long"}]
    return {"type": "record", "name": "Order", "namespace": namespace, "fields": fields}


@pytest.mark.parametrize(
    ("branches", "hints", "names"),
    [
        ([order("shop.v1", "id"), "string"], None, ["Order", "string"]),
        ([order("shop.v1", "id"), order("shop.v2", "no")], None, ["shop_v1_Order", "shop_v2_Order"]),
        ([order("shop.v1", "id"), "string"], ["an-order", "a.text"], ["an_order", "a_text"]),
        ([order("shop.v1", "id"), "string"], ["", "text"], ["Order", "text"]),
    ],
    ids=["its name", "two of one name", "hints", "one hint"],
)
@pytest.mark.parametrize("within", ["", "array", "optional array"])
def test_a_branch_of_a_union_has_the_field_that_bears_its_name(
    branches: list[Any], hints: list[str] | None, names: list[str], within: str
) -> None:
    union: Any = {"type": "array", "items": branches} if within else branches
    union = ["null", union] if within == "optional array" else union
    named = {"confluent:union": [{"name": hint} for hint in hints]} if hints else {}
    text = {"type": "record", "name": "R", "fields": [{"name": "f", "type": union, **named}]}
    schema = Schema(7, "AVRO", json.dumps(text), {})
    inner = [struct(id="long"), struct(no="long") if isinstance(branches[1], dict) else "string"]
    column = struct(**dict(zip(names, inner, strict=True)))
    kind = {"type": "list", "element-id": 9, "element": column, "element-required": False}
    out = io.BytesIO()
    value = ("shop.v1.Order", {"id": 5})
    fastavro.schemaless_writer(out, text, {"f": [value] if within else value})

    (read,) = AvroReader(schema, schema, struct(f=kind if within else column))(out.getvalue())

    assert read == ((((5,), None),) if within else ((5,), None))
