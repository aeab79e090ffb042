"""Every row of the mapping table for Protobuf, as fields of one wide message."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from frazil.connections import Connections
from kit.formats.conformance import RECORDS, Case, Format, send_values
from kit.formats.protobuf import message_class

__all__ = ["PROTOBUF"]

INTRO = """
syntax = "proto3";
package conformance;
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "google/type/date.proto";
import "google/type/timeofday.proto";
import "confluent/meta.proto";
import "confluent/type/decimal.proto";
"""
TYPES = """
enum Side { UNKNOWN = 0; BUY = 1; SELL = 2; }
message Leg { int32 n = 1; string s = 2; }
message Deep { Leg leg = 1; repeated Leg legs = 2; map<string, Leg> named = 3; }
message Odd { int32 from = 1; string table = 2; oneof where { int32 union = 3; string null = 4; } }
message PairEntry { string key = 1; int64 value = 2; }
"""

UTC = dt.UTC
NOON = dt.datetime(2026, 3, 1, 12, 0, 0, 123456, UTC)
SECONDS = int(NOON.timestamp())
FIRST, LAST = -62_135_596_800, 253_402_300_799
LEG = "struct<n: required int, s: required string>"
LONG = 2**63


def case(
    name: str, kind: str, written: tuple[Any, Any], read: tuple[Any, Any] | None, column: str,
    *, optional: bool = False, options: str = "",
) -> Case:  # fmt: skip
    """A field `kind name`; read as it is written unless said otherwise."""
    return Case(name, f"{kind} {name} = {{}}{options};", written, read or written, column, optional)


def choice(name: str, members: str, written: tuple[Any, Any], read: tuple[Any, Any], column: str) -> Case:
    """A oneof; `{}` stands for field numbers."""
    return Case(name, f"oneof {name} {{{{ {members} }}}}", written, read, column, True)


def decimal(precision: int, scale: int) -> str:
    """The options that say a decimal's digits."""
    params = ((k, v) for k, v in (("precision", precision), ("scale", scale)))
    return f" [{', '.join(PARAM % pair for pair in params)}]"


PARAM = '(confluent.field_meta).params = {{ key: "%s" value: "%d" }}'


def unscaled(number: int, scale: int, size: int = 16) -> dict[str, Any]:
    """A `confluent.type.Decimal`."""
    return {"value": number.to_bytes(size, "big", signed=True), "precision": 38, "scale": scale}


def moment(seconds: int, micros: int = 0) -> dt.datetime:
    """What a Timestamp is."""
    return dt.datetime(1970, 1, 1, tzinfo=UTC) + dt.timedelta(seconds=seconds, microseconds=micros)


NUMBERS = (
    case("an_int32", "int32", (2**31 - 1, -(2**31)), None, "int"),
    case("a_sint32", "sint32", (2**31 - 1, -(2**31)), None, "int"),
    case("an_sfixed32", "sfixed32", (2**31 - 1, -(2**31)), None, "int"),
    case("a_uint32", "uint32", (2**32 - 1, 0), None, "long"),
    case("a_fixed32", "fixed32", (2**32 - 1, 0), None, "long"),
    case("an_int64", "int64", (LONG - 1, -LONG), None, "long"),
    case("a_sint64", "sint64", (LONG - 1, -LONG), None, "long"),
    case("an_sfixed64", "sfixed64", (LONG - 1, -LONG), None, "long"),
    case("a_uint64", "uint64", (LONG - 1, 0), None, "long"),
    case("a_fixed64", "fixed64", (LONG - 1, 0), None, "long"),
    case("a_float", "float", (1.5, -math.inf), None, "float"),
    case("a_double", "double", (1e300, math.nan), None, "double"),
    case("a_bool", "bool", (True, False), None, "boolean"),
)
TEXTS = (
    case("a_string", "string", ("Grüße, 日本 🧊", ""), None, "string"),
    case("some_bytes", "bytes", (b"\0\xff", b""), None, "binary"),
    case("an_enum", "Side", ("SELL", "UNKNOWN"), None, "string"),
    case("an_enum_of_later", "Side", (99, -1), ("99", "-1"), "string"),
)
MESSAGES = (
    case("a_message", "Leg", ({"n": 1, "s": "x"}, None), None, LEG, optional=True),
    case("an_empty_one", "Leg", ({}, None), ({"n": 0, "s": ""}, None), LEG, optional=True),
    case(
        "a_deep_one", "Deep",
        ({"leg": {"n": 1}, "legs": [{"n": 2}, {"s": "y"}]}, {}),
        (
            {"leg": {"n": 1, "s": ""}, "legs": [{"n": 2, "s": ""}, {"n": 0, "s": "y"}], "named": {}},
            {"leg": None, "legs": [], "named": {}},
        ),
        f"struct<leg: optional {LEG}, legs: required list<{LEG}>, named: required map<string, {LEG}>>",
        optional=True,
    ),
    case(
        "an_any", "google.protobuf.Any", ({"type_url": "t/x", "value": b"\x08\x01"}, None), None,
        "struct<type_url: required string, value: required binary>", optional=True,
    ),
)  # fmt: skip
LISTS = (
    case("ints", "repeated int32", ([1, -2, 300], []), None, "list<int>"),
    case("unpacked", "repeated sint64", ([1, -LONG], []), None, "list<long>", options=" [packed = false]"),
    case("uints", "repeated uint64", ([LONG - 1, 0], []), None, "list<long>"),
    case("strings", "repeated string", (["a", "", "é"], []), None, "list<string>"),
    case("blobs", "repeated bytes", ([b"", b"\xff"], []), None, "list<binary>"),
    case("doubles", "repeated double", ([0.5, -0.0], []), None, "list<double>"),
    case("enums", "repeated Side", (["BUY", 7], []), (["BUY", "7"], []), "list<string>"),
    case("legs", "repeated Leg", ([{"n": 1, "s": ""}, {"n": 0, "s": "z"}], []), None, f"list<{LEG}>"),
    case(
        "moments", "repeated google.protobuf.Timestamp",
        ([{"seconds": SECONDS, "nanos": 123456000}, {}], []), ([NOON, moment(0)], []), "list<timestamptz>",
    ),
    case(
        "wrapped_ones", "repeated google.protobuf.Int32Value", ([{"value": 1}, {}], []), ([1, 0], []),
        "list<int>",
    ),
)  # fmt: skip
MAPS = (
    case("by_string", "map<string, int64>", ({"a": 1, "": 0}, {}), None, "map<string, long>"),
    case("by_int", "map<int32, string>", ({-1: "a", 0: ""}, {}), None, "map<int, string>"),
    case("by_uint64", "map<uint64, uint32>", ({LONG - 1: 2**32 - 1}, {}), None, "map<long, long>"),
    case("by_bool", "map<bool, bytes>", ({True: b"1", False: b""}, {}), None, "map<boolean, binary>"),
    case("of_enums", "map<string, Side>", ({"a": 2, "b": 9}, {}), ({"a": "SELL", "b": "9"}, {}),
         "map<string, string>"),
    case("of_messages", "map<string, Leg>", ({"a": {"n": 1}}, {}), ({"a": {"n": 1, "s": ""}}, {}),
         f"map<string, {LEG}>"),
    case("entries", "repeated PairEntry", ([{"key": "a", "value": 1}, {"key": "b"}], []),
         ({"a": 1, "b": 0}, {}), "map<string, long>"),
)  # fmt: skip
ONEOFS = (
    choice("a_choice", "int32 c_n = {}; string c_s = {};", ({"c_n": 0}, {"c_s": ""}),
           ({"c_n": 0, "c_s": None}, {"c_n": None, "c_s": ""}),
           "struct<c_n: optional int, c_s: optional string>"),
    choice("a_choice_not_made", "bool d_b = {};", ({"d_b": False}, {}), ({"d_b": False}, None),
           "struct<d_b: optional boolean>"),
    choice("a_choice_of_messages", "Leg e_leg = {}; google.protobuf.Timestamp e_at = {};",
           ({"e_leg": {"n": 1}}, {"e_at": {"seconds": 1}}),
           ({"e_leg": {"n": 1, "s": ""}, "e_at": None}, {"e_leg": None, "e_at": moment(1)}),
           f"struct<e_leg: optional {LEG}, e_at: optional timestamptz>"),
)  # fmt: skip
OPTIONALS = (
    case("maybe_int", "optional int32", (0, None), None, "int", optional=True),
    case("maybe_uint64", "optional uint64", (LONG - 1, None), None, "long", optional=True),
    case("maybe_string", "optional string", ("", None), None, "string", optional=True),
    case("maybe_bool", "optional bool", (False, None), None, "boolean", optional=True),
    case("maybe_bytes", "optional bytes", (b"", None), None, "binary", optional=True),
    case("maybe_enum", "optional Side", ("UNKNOWN", None), None, "string", optional=True),
)


def wrapper(name: str, kind: str, value: Any, column: str) -> Case:
    """A nullable scalar of the time before `optional`."""
    google = f"google.protobuf.{kind}Value"
    return case(name, google, ({"value": value}, None), (value, None), column, optional=True)


WRAPPED = (
    wrapper("wrapped_bool", "Bool", False, "boolean"),
    wrapper("wrapped_int32", "Int32", -1, "int"),
    wrapper("wrapped_uint32", "UInt32", 2**32 - 1, "long"),
    wrapper("wrapped_int64", "Int64", -LONG, "long"),
    wrapper("wrapped_uint64", "UInt64", LONG - 1, "long"),
    wrapper("wrapped_float", "Float", 0.5, "float"),
    wrapper("wrapped_double", "Double", 0.0, "double"),
    wrapper("wrapped_string", "String", "", "string"),
    wrapper("wrapped_bytes", "Bytes", b"\0", "binary"),
)
KNOWN = (
    case("a_timestamp", "google.protobuf.Timestamp", ({"seconds": SECONDS, "nanos": 123456000}, None),
         (NOON, None), "timestamptz", optional=True),
    case("a_timestamp_of_nanos", "google.protobuf.Timestamp",
         ({"nanos": 1999}, {"seconds": -1, "nanos": 999999999}),
         (moment(0, 1), moment(-1, 999999)), "timestamptz", optional=True),
    case("a_far_timestamp", "google.protobuf.Timestamp",
         ({"seconds": FIRST}, {"seconds": LAST, "nanos": 999999999}),
         (moment(FIRST), moment(LAST, 999999)), "timestamptz", optional=True),
    case("a_duration", "google.protobuf.Duration",
         ({"seconds": 1, "nanos": 5000}, {"seconds": -1, "nanos": -1999}),
         (1_000_005, -1_000_001), "long", optional=True),
    case("a_date", "google.type.Date", ({"year": 2024, "month": 2, "day": 29}, None),
         (dt.date(2024, 2, 29), None), "date", optional=True),
    case("a_time_of_day", "google.type.TimeOfDay",
         ({"hours": 23, "minutes": 59, "seconds": 59, "nanos": 999999000}, {"hours": 24}),
         (86_399_999_999, 86_400_000_000), "long", optional=True),
    case("a_decimal", "confluent.type.Decimal", (unscaled(-12345, 2), None), (Decimal("-123.45"), None),
         "decimal(10, 2)", optional=True, options=decimal(10, 2)),
    case("a_long_decimal", "confluent.type.Decimal", (unscaled(10**38 - 1, 0), unscaled(1 - 10**38, 0)),
         (Decimal(10**38 - 1), Decimal(1 - 10**38)), "decimal(38, 0)", optional=True, options=decimal(38, 0)),
    case("a_decimal_of_less_scale", "confluent.type.Decimal", (unscaled(5, 1), {}),
         (Decimal("0.500"), Decimal("0.000")), "decimal(9, 3)", optional=True, options=decimal(9, 3)),
)  # fmt: skip

NAMES = (
    *(case(name, "int32", (1, 2), None, "int") for name in ("select", "order", "group", "message", "string")),
    case("odd_names", "Odd", ({"from": 1, "table": "a"}, None),
         ({"from": 1, "table": "a", "where": None}, None),
         "struct<from: required int, table: required string, where: optional struct<union: optional int, "
         "null: optional string>>", optional=True),
    case("odd_keys", "map<string, int32>",
         ({"a.b": 1, "a-b": 2, "a b": 3, "select": 4, "שלום": 5, "🚋": 6, "": 7}, {}), None,
         "map<string, int>"),
)  # fmt: skip

CASES = (*NUMBERS, *TEXTS, *MESSAGES, *LISTS, *MAPS, *OPTIONALS, *WRAPPED, *KNOWN, *ONEOFS, *NAMES)


def schema() -> str:
    """The wide message, and the types of its fields behind it: a table holds the file's first message."""
    numbers = iter(range(1, 1000))
    lines = [c.schema.format(*(next(numbers) for _ in range(c.schema.count("{} ") + c.schema.count("{};"))))
             for c in CASES]  # fmt: skip
    return f"{INTRO}message Wide {{\n  {chr(10).join(lines)}\n}}\n{TYPES}"


def produce(connections: Connections, topic: str) -> None:
    """Registers the schema as Python's serializer does, in base64, and produces the records."""
    wide = message_class(schema(), "conformance.Wide")
    serializer = ProtobufSerializer(wide, connections.registry, {"use.deprecated.format": False})
    context = SerializationContext(topic, MessageField.VALUE)
    sent: list[bytes] = []
    for n in range(RECORDS):
        message = wide()
        for entry in CASES:
            written = entry.written[n]
            several = entry.schema.startswith("oneof")
            for name, value in (written if several else {entry.name: written}).items():
                _set(message, name, value)
        sent.append(serializer(message, context))
    send_values(connections, topic, sent)


def _set(message: Any, name: str, value: Any) -> None:
    field = message.DESCRIPTOR.fields_by_name[name]
    if value is None:
        return
    if not (field.message_type and field.message_type.GetOptions().map_entry):
        message.MergeFrom(type(message)(**{name: value}))
        if field.message_type and not field.is_repeated:
            getattr(message, name).SetInParent()
        return
    for key, item in value.items():
        if isinstance(item, dict):
            for inner, content in item.items():
                setattr(getattr(message, name)[key], inner, content)
        else:
            getattr(message, name)[key] = item


PROTOBUF = Format("protobuf", CASES, produce)
