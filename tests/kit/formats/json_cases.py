"""Every row of the mapping table for JSON Schema, with values at the edges."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from confluent_kafka.schema_registry import Schema, SchemaReference
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from frazil.connections import Connections
from kit.formats.conformance import RECORDS, Case, Format, send_values

__all__ = ["JSON", "MONEY", "record", "wide"]

CONNECT = "org.apache.kafka.connect.data."
TEXTS = ("", "Žižkov 🚋 \u0000\t\"'`\\ 東京")
LONGS = (-(2**63), 2**63 - 1)
LEFT_OUT: Any = ...
"""A property that the record does not have."""

STRING, INTEGER, NUMBER, BOOLEAN, NULL = (
    {"type": t} for t in ("string", "integer", "number", "boolean", "null")
)


def case(
    name: str,
    schema: Any,
    type_: str,
    written: tuple[Any, Any],
    read: tuple[Any, Any] | None = None,
    optional: bool = False,
) -> Case:
    return Case(name, schema, written, written if read is None else read, type_, optional)


def connect(json_type: str, kind: str, title: str = "", **more: Any) -> dict[str, Any]:
    titled = {"title": CONNECT + title} if title else {}
    return {"type": json_type, "connect.type": kind, **titled, **more}


def decimal(json_type: str = "number", **parameters: str) -> dict[str, Any]:
    named = {k.replace("_", "."): v for k, v in parameters.items()}
    return connect(json_type, "bytes", "Decimal", **({"connect.parameters": named} if named else {}))


def obj(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def array(items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def mapping(values: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values, **more}


def entries(key: Any, value: Any, *required: str) -> dict[str, Any]:
    return array(obj("key", *required, key=key, value=value), **{"connect.type": "map"})


def text(raw: bytes) -> str:
    return b64encode(raw).decode()


def unscaled(number: int) -> str:
    return text(number.to_bytes((number.bit_length() + 8) // 8, "big", signed=True))


RAW = (b"", bytes(range(256)))
FOUR = (b"\0\1\2\3", b"\xff\xfe\xfd\xfc")
MOMENTS = (-1, 2_147_483_648_999)
READ_MOMENTS = (
    datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=UTC),
    datetime(2038, 1, 19, 3, 14, 8, 999000, tzinfo=UTC),
)
NAIVE = tuple(m.replace(tzinfo=None) for m in READ_MOMENTS)

SCALARS = (
    case("integer", INTEGER, "long", LONGS),
    case("int8", connect("integer", "int8"), "int", (-128, 127)),
    case("int16", connect("integer", "int16"), "int", (-(2**15), 2**15 - 1)),
    case("int32", connect("integer", "int32"), "int", (-(2**31), 2**31 - 1)),
    case("int64", connect("integer", "int64"), "long", LONGS),
    case("int64_as_number", connect("number", "int64"), "long", LONGS),
    case("number", NUMBER, "double", (5e-324, -1.7976931348623157e308)),
    case("whole_number", NUMBER, "double", (0, -(2**53)), (0.0, -(2.0**53))),
    case("float32", connect("number", "float32"), "float", (-0.15625, 3.0)),
    case("float64", connect("number", "float64"), "double", (0.1, 1e22)),
    case("boolean", BOOLEAN, "boolean", (True, False)),
    case("string", STRING, "string", TEXTS),
    case("digits_in_a_string", STRING, "string", ("12.50", "null")),
    case("date_time_stays_text", {"type": "string", "format": "date-time"}, "string",
         ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123456789+02:00")),
    case("date_stays_text", {"type": "string", "format": "date"}, "string", ("2026-01-02", "0001-01-01")),
    case("uuid_stays_text", {"type": "string", "format": "uuid"}, "string",
         ("12345678-1234-5678-1234-567812345678", "00000000-0000-0000-0000-000000000000")),
    case("bytes", connect("string", "bytes"), "binary", (text(RAW[0]), text(RAW[1])), RAW),
    case("fixed_bytes", connect("string", "bytes", **{"flink.minLength": 4, "flink.maxLength": 4}), "binary",
         (text(FOUR[0]), text(FOUR[1])), FOUR),
)  # fmt: skip

ENUMS = (
    case("enum", {"enum": ["RED", "it's"]}, "string", ("RED", "it's")),
    case("enum_with_type", {"type": "string", "enum": ["A", "Ž"]}, "string", ("A", "Ž")),
    case("enum_with_null", {"enum": ["A", None]}, "string", ("A", None), optional=True),
    case("enum_of_integers", {"enum": [1, 2]}, "long", (1, 2)),
    case("constant", {"const": "only"}, "string", ("only", "only")),
)

LOGICAL = (
    case("connect_date", connect("integer", "int32", "Date"), "date", (-1, 2932896),
         (date(1969, 12, 31), date(9999, 12, 31))),
    case("connect_date_as_number", connect("number", "int32", "Date"), "date", (-719162, 0),
         (date(1, 1, 1), date(1970, 1, 1))),
    case("connect_time", connect("integer", "int32", "Time"), "long", (0, 86_400_000), (0, 86_400_000_000)),
    case("connect_timestamp", connect("integer", "int64", "Timestamp"), "timestamptz", MOMENTS, READ_MOMENTS),
    case("connect_local_timestamp", connect("integer", "int64", "Timestamp", **{"flink.type": "timestamp"}),
         "timestamp", MOMENTS, NAIVE),
    case("local_timestamp_by_parameter",
         connect("number", "int64", "Timestamp", **{"connect.parameters": {"flink.type": "timestamp"}}),
         "timestamp", MOMENTS, NAIVE),
    case("decimal", decimal(scale="2", connect_decimal_precision="10"), "decimal(10, 2)",
         (12.34, -99999999.99), (Decimal("12.34"), Decimal("-99999999.99"))),
    case("decimal_defaults", decimal(), "decimal(38, 18)", (1.25e-16, 5),
         (Decimal("0.000000000000000125"), Decimal("5.000000000000000000"))),
    case("decimal_without_scale", decimal(scale="0", connect_decimal_precision="38"), "decimal(38, 0)",
         (10**37, -(10**37) - 1), (Decimal(10**37), Decimal(-(10**37) - 1))),
    case("decimal_as_bytes", decimal("string", scale="2", connect_decimal_precision="20"), "decimal(20, 2)",
         (unscaled(1234), unscaled(-(10**20) + 1)), (Decimal("12.34"), Decimal("-999999999999999999.99"))),
    case("decimal_of_16_bytes", decimal("string", scale="0", connect_decimal_precision="38"),
         "decimal(38, 0)", (unscaled(10**38 - 1), unscaled(0)), (Decimal(10**38 - 1), Decimal(0))),
)  # fmt: skip
POINT = obj("x", x=INTEGER, y=STRING)
POINT_TYPE = "struct<1: x: required long, 2: y: optional string>"
POINTS = ({"x": 1, "y": "a"}, {"x": 2})
READ_POINTS = ({"x": 1, "y": "a"}, {"x": 2, "y": None})

NESTED = (
    case("list", array(INTEGER), "list<long>", ([], [1, 2, -3])),
    case("list_of_text", array(STRING), "list<string>", (["", "a"], ["12"])),
    case("list_with_nulls", array({"oneOf": [NULL, INTEGER]}), "list<long>", ([None, 1], [None])),
    case("list_of_lists", array(array(STRING)), "list<list<string>>", ([["a"], []], [])),
    case("list_of_objects", array(POINT), f"list<{POINT_TYPE}>", (list(POINTS), []), (list(READ_POINTS), [])),
    case("list_of_enums", array({"enum": ["A", "B"]}), "list<string>", (["A", "B"], [])),
    case("list_of_dates", array(connect("integer", "int32", "Date")), "list<date>", ([0, 1], []),
         ([date(1970, 1, 1), date(1970, 1, 2)], [])),
    case("list_of_decimals", array(decimal(scale="1", connect_decimal_precision="3")), "list<decimal(3, 1)>",
         ([0.5, 7], []), ([Decimal("0.5"), Decimal("7.0")], [])),
    case("object", POINT, POINT_TYPE, POINTS, READ_POINTS),
    case("object_in_object", obj("p", p=POINT), f"struct<1: p: required {POINT_TYPE}>",
         ({"p": POINTS[0]}, {"p": POINTS[1]}), ({"p": READ_POINTS[0]}, {"p": READ_POINTS[1]})),
    case("object_ordered_by_index",
         obj("b", "a", a={**STRING, "connect.index": 1}, b={**STRING, "connect.index": 0}, c=STRING),
         "struct<1: b: required string, 2: a: required string, 3: c: optional string>",
         ({"a": "1", "b": "2"}, {"c": "3", "b": "2", "a": "1"}),
         ({"b": "2", "a": "1", "c": None}, {"b": "2", "a": "1", "c": "3"})),
    case("object_with_more", {**POINT, "additionalProperties": True}, POINT_TYPE,
         ({"x": 1, "y": "a", "z": 3}, {"x": 2}), READ_POINTS),
    case("all_of", {"allOf": [obj("x", x=INTEGER), obj(y=STRING)]}, POINT_TYPE, POINTS, READ_POINTS),
    case("map", mapping(INTEGER, **{"connect.type": "map"}), "map<string, long>", ({}, {"a": 1, "": 2})),
    case("map_without_mark", mapping(STRING), "map<string, string>", ({"k": "v"}, {"ž": "12"})),
    case("map_with_nulls", mapping({"oneOf": [NULL, STRING]}), "map<string, string>", ({"k": None}, {})),
    case("map_of_objects", mapping(POINT), f"map<string, {POINT_TYPE}>",
         ({"k": POINTS[1]}, {}), ({"k": READ_POINTS[1]}, {})),
    case("map_by_pattern", {"type": "object", "patternProperties": {"^k": INTEGER}}, "map<string, long>",
         ({"k1": 1}, {})),
    case("map_of_pairs", entries(INTEGER, STRING, "value"), "map<long, string>",
         ([{"key": 1, "value": "a"}, {"key": -2, "value": "b"}], []), ({1: "a", -2: "b"}, {})),
    case("map_of_pairs_with_nulls", entries(STRING, INTEGER), "map<string, long>",
         ([{"key": "a"}, {"key": "b", "value": 1}], []), ({"a": None, "b": 1}, {})),
    case("multiset", {**entries(STRING, connect("integer", "int32"), "value"), "flink.type": "multiset"},
         "map<string, int>", ([{"key": "a", "value": 2}], []), ({"a": 2}, {})),
)  # fmt: skip

OPTIONAL = (
    case("left_out", STRING, "string", (LEFT_OUT, "a"), (None, "a"), optional=True),
    case("optional_by_one_of", {"oneOf": [NULL, STRING]}, "string", (None, ""), optional=True),
    case("optional_by_any_of", {"anyOf": [INTEGER, NULL]}, "long", (None, 1), optional=True),
    case("optional_by_type", {"type": ["string", "null"]}, "string", (None, "null"), optional=True),
    case("optional_decimal", {"oneOf": [NULL, decimal(scale="1")]}, "decimal(38, 1)", (None, 0.5),
         (None, Decimal("0.5")), optional=True),
    case("optional_object", {"oneOf": [NULL, POINT]}, POINT_TYPE, (None, POINTS[1]), (None, READ_POINTS[1]),
         optional=True),
    case("optional_list", {"oneOf": [NULL, array(STRING)]}, "list<string>", (None, []), optional=True),
    case("optional_map", {"oneOf": [NULL, mapping(STRING)]}, "map<string, string>", (None, {}),
         optional=True),
)  # fmt: skip


def either(**branches: Any) -> Any:
    """A union's struct: one branch is set, the others are null."""
    return branches


UNIONS = (
    case("one_of", {"oneOf": [STRING, INTEGER]},
         "struct<1: connect_union_field_0: optional string, 2: connect_union_field_1: optional long>",
         ("5", 5), (either(connect_union_field_0="5", connect_union_field_1=None),
                    either(connect_union_field_0=None, connect_union_field_1=5))),
    case("any_of_titled", {"anyOf": [{**BOOLEAN, "title": "flag"}, {**STRING, "title": "note"}]},
         "struct<1: flag: optional boolean, 2: note: optional string>",
         (True, "true"), (either(flag=True, note=None), either(flag=None, note="true"))),
    case("one_of_with_null", {"oneOf": [NULL, {**STRING, "title": "s"}, {**NUMBER, "title": "n"}]},
         "struct<1: s: optional string, 2: n: optional double>", (None, 1.5), (None, either(s=None, n=1.5)),
         optional=True),
    case("several_types", {"type": ["boolean", "integer"]},
         "struct<1: connect_union_field_0: optional boolean, 2: connect_union_field_1: optional long>",
         (False, 0), (either(connect_union_field_0=False, connect_union_field_1=None),
                      either(connect_union_field_0=None, connect_union_field_1=0))),
    case("one_of_objects",
         {"oneOf": [{**obj("cat", cat=INTEGER), "title": "Cat"}, {**obj("dog", dog=STRING), "title": "Dog"}]},
         "struct<1: Cat: optional struct<2: cat: required long>, "
         "3: Dog: optional struct<4: dog: required string>>",
         ({"cat": 9}, {"dog": "Rex"}),
         (either(Cat={"cat": 9}, Dog=None), either(Cat=None, Dog={"dog": "Rex"}))),
    case("any_of_objects_told_by_their_keys",
         {"anyOf": [{**obj(a=STRING), "title": "A"}, {**obj(a=STRING, b=STRING), "title": "B"}]},
         "struct<1: A: optional struct<2: a: optional string>, "
         "3: B: optional struct<4: a: optional string, 5: b: optional string>>",
         ({"a": "1"}, {"a": "1", "b": "2"}),
         (either(A={"a": "1"}, B=None), either(A=None, B={"a": "1", "b": "2"}))),
    case("one_of_containers",
         {"oneOf": [{**array(INTEGER), "title": "many"}, {**mapping(STRING), "title": "named"}]},
         "struct<1: many: optional list<long>, 2: named: optional map<string, string>>",
         ([1], {"k": "v"}), (either(many=[1], named=None), either(many=None, named={"k": "v"}))),
    case("one_of_decimal_and_text",
         {"oneOf": [decimal(scale="2", connect_decimal_precision="6"), {**STRING, "title": "s"}]},
         "struct<1: connect_union_field_0: optional decimal(6, 2), 2: s: optional string>",
         (12.34, "12.34"), (either(connect_union_field_0=Decimal("12.34"), s=None),
                            either(connect_union_field_0=None, s="12.34"))),
    case("list_of_unions", array({"oneOf": [STRING, INTEGER]}),
         "list<struct<1: connect_union_field_0: optional string, 2: connect_union_field_1: optional long>>",
         (["a", 1], []), ([either(connect_union_field_0="a", connect_union_field_1=None),
                           either(connect_union_field_0=None, connect_union_field_1=1)], [])),
    case("union_beside_constraints", {**POINT, "anyOf": [{"required": ["x"]}, {"required": ["y"]}]},
         POINT_TYPE, POINTS, READ_POINTS),
)  # fmt: skip

REFERENCES = (
    case("ref_to_defs", {"$ref": "#/$defs/point"}, POINT_TYPE, POINTS, READ_POINTS),
    case("ref_to_definitions", {"$ref": "#/definitions/color"}, "string", ("RED", "RED")),
    case("ref_through_ref", {"$ref": "#/definitions/alias"}, "string", ("RED", "RED")),
    case("ref_to_another_subject", {"$ref": "money.json"},
         "struct<1: amount: required long, 2: currency: required string>",
         ({"amount": 1, "currency": "CZK"}, {"amount": 2, "currency": "EUR"})),
    case("ref_into_another_subject", {"$ref": "money.json#/definitions/currency"}, "string", ("CZK", "EUR")),
    case("ref_with_null", {"oneOf": [NULL, {"$ref": "#/$defs/point"}]}, POINT_TYPE, (None, POINTS[0]),
         (None, READ_POINTS[0]), optional=True),
    case("all_of_refs", {"allOf": [{"$ref": "#/$defs/point"}, obj(z=BOOLEAN)]},
         "struct<1: x: required long, 2: y: optional string, 3: z: optional boolean>",
         ({"x": 1, "z": True}, {"x": 2}), ({"x": 1, "y": None, "z": True}, {"x": 2, "y": None, "z": None})),
)  # fmt: skip

ODD = ("with.dot", "with-dash", "select", "שלום", "🚋", "$x", "'")
NAMES = (
    *(case(name, INTEGER, "long", (1, 2)) for name in ODD),
    case("odd_names",
         obj("with.dot", "🚋", **dict.fromkeys(("with.dot", "with-dash", "שלום", "🚋"), INTEGER)),
         "struct<1: with-dash: optional long, 2: with.dot: required long, 3: שלום: optional long, "
         "4: 🚋: required long>",
         ({"with.dot": 1, "with-dash": 2, "שלום": 3, "🚋": 4}, {"with.dot": 5, "🚋": 6}),
         ({"with-dash": 2, "with.dot": 1, "שלום": 3, "🚋": 4},
          {"with-dash": None, "with.dot": 5, "שלום": None, "🚋": 6})),
    case("odd_branches", {"oneOf": [{"title": "a.b", **STRING}, {"title": "select", **INTEGER}]},
         "struct<1: connect_union_field_0: optional string, 2: select: optional long>",
         ("a", 1),
         ({"connect_union_field_0": "a", "select": None}, {"connect_union_field_0": None, "select": 1})),
    case("odd_keys", mapping(INTEGER), "map<string, long>",
         ({"a.b": 1, "a-b": 2, "a b": 3, "select": 4, "שלום": 5, "🚋": 6, "": 7}, {})),
)  # fmt: skip

DEFINED = {
    "$defs": {"point": POINT},
    "definitions": {"color": {"enum": ["RED"]}, "alias": {"$ref": "#/definitions/color"}},
}
MONEY = {
    **obj("amount", "currency", amount=INTEGER, currency={"$ref": "#/definitions/currency"}),
    "definitions": {"currency": {"enum": ["CZK", "EUR"]}},
}


def _produce(connections: Connections, topic: str) -> None:
    registry = connections.registry
    registry.register_schema(f"{topic}-money", Schema(json.dumps(MONEY), "JSON"))
    schema = Schema(json.dumps(wide()), "JSON", [SchemaReference("money.json", f"{topic}-money", 1)])
    encode = JSONSerializer(schema, registry)
    context = SerializationContext(topic, MessageField.VALUE)
    sent: list[bytes] = []
    for n in range(RECORDS):
        sent.append(encode(record(n), context))
    send_values(connections, topic, sent)


def record(n: int) -> dict[str, Any]:
    """A record with every case."""
    return {c.name: c.written[n] for c in JSON.cases if c.written[n] is not LEFT_OUT}


def wide() -> dict[str, Any]:
    """Its schema, which refers to `MONEY` as money.json."""
    required = [c.name for c in JSON.cases if not c.optional]
    return {**obj(*required, **{c.name: c.schema for c in JSON.cases}), "title": "Wide", **DEFINED}


JSON = Format(
    "json", (*SCALARS, *ENUMS, *LOGICAL, *NESTED, *OPTIONAL, *UNIONS, *REFERENCES, *NAMES), _produce
)
