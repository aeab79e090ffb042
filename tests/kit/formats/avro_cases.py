"""Every row of the mapping table for Avro, with values at the edges."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from frazil.connections import Connections
from kit.formats.conformance import RECORDS, Case, Format, send_values

__all__ = ["AVRO"]

FIRST = datetime(1969, 12, 31, 23, 59, 59, 123456, tzinfo=UTC)
LATER = datetime(2038, 1, 19, 3, 14, 8, 999999, tzinfo=UTC)
TEXTS = ("", "Žižkov 🚋 \u0000\t\"'`\\ 東京")
ONE_UUID = "12345678-1234-5678-1234-567812345678"
CONNECT = "io.confluent.connect.avro.MapEntry"


def array(items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def mapping(values: Any, **more: Any) -> dict[str, Any]:
    return {"type": "map", "values": values, **more}


def record(name: str, /, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields.items()]}


def entry(name: str, key: Any, value: Any, **more: Any) -> dict[str, Any]:
    return {**record(name, key=key, value=value), **more}


def unit(kind: str, logical: str) -> dict[str, Any]:
    return {"type": kind, "logicalType": logical}


def decimal(precision: int | None, scale: int | None, size: int = 0) -> dict[str, Any]:
    digits = {k: v for k, v in (("precision", precision), ("scale", scale)) if v is not None}
    shape = {"type": "fixed", "name": f"D{size}", "size": size} if size else {"type": "bytes"}
    return {**shape, "logicalType": "decimal", **digits}


def fixed(name: str, size: int) -> dict[str, Any]:
    return {"type": "fixed", "name": name, "size": size}


def enum(name: str) -> dict[str, Any]:
    return {"type": "enum", "name": name, "symbols": ["RED", "GREEN", "BLUE"]}


def case(
    name: str,
    schema: Any,
    type_: str,
    written: tuple[Any, Any],
    read: tuple[Any, Any] | None = None,
    optional: bool = False,
) -> Case:
    return Case(name, schema, written, written if read is None else read, type_, optional)


def millis(moment: datetime) -> datetime:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def naive(moment: datetime) -> datetime:
    return moment.replace(tzinfo=None)


def micros(clock: time) -> int:
    return ((clock.hour * 60 + clock.minute) * 60 + clock.second) * 1_000_000 + clock.microsecond


MIDNIGHT, LAST_MILLI, LAST_MICRO = time(), time(23, 59, 59, 999000), time(23, 59, 59, 999999)

SCALARS = (
    case("boolean", "boolean", "boolean", (True, False)),
    case("int", "int", "int", (-(2**31), 2**31 - 1)),
    case("int8", {"type": "int", "connect.type": "int8"}, "int", (-128, 127)),
    case("int16", {"type": "int", "connect.type": "int16"}, "int", (-32768, 32767)),
    case("int32", {"type": "int", "connect.type": "int32"}, "int", (0, -1)),
    case("long", "long", "long", (-(2**63), 2**63 - 1)),
    case("float", "float", "float", (-1.5, 3.4028234663852886e38)),
    case("float_special", "float", "float", (float("inf"), float("nan"))),
    case("double", "double", "double", (5e-324, -1.7976931348623157e308)),
    case("double_special", "double", "double", (float("-inf"), float("nan"))),
    case("string", "string", "string", TEXTS),
    case("java_string", {"type": "string", "avro.java.string": "String"}, "string", ("a", "b" * 1000)),
    case("bytes", "bytes", "binary", (b"", bytes(range(256)))),
    case("fixed", fixed("F4", 4), "binary", (b"\0\0\0\0", b"\xff\xfe\0\1")),
    case("enum", enum("Colour"), "string", ("RED", "BLUE")),
    case("uuid", unit("string", "uuid"), "string", (UUID(ONE_UUID), UUID(int=0)),
         (ONE_UUID, str(UUID(int=0)))),
)  # fmt: skip

MOMENTS = (
    case("date", unit("int", "date"), "date", (date(1, 1, 1), date(9999, 12, 31))),
    case("date_before_1970", unit("int", "date"), "date", (date(1969, 12, 31), date(1970, 1, 1))),
    case("time_millis", unit("int", "time-millis"), "long", (MIDNIGHT, 86_400_000), (0, 86_400_000_000)),
    case("time_micros", unit("long", "time-micros"), "long", (LAST_MICRO, 86_400_000_000),
         (micros(LAST_MICRO), 86_400_000_000)),
    case("time_millis_of_a_long", unit("long", "time-millis"), "long", (5, -(2**62))),
    case("timestamp_millis", unit("long", "timestamp-millis"), "timestamptz", (FIRST, LATER),
         (millis(FIRST), millis(LATER))),
    case("timestamp_micros", unit("long", "timestamp-micros"), "timestamptz", (FIRST, LATER)),
    case("local_timestamp_millis", unit("long", "local-timestamp-millis"), "timestamp",
         (naive(FIRST), naive(LATER)), (naive(millis(FIRST)), naive(millis(LATER)))),
    case("local_timestamp_micros", unit("long", "local-timestamp-micros"), "timestamp",
         (naive(FIRST), naive(LATER))),
)  # fmt: skip

DECIMALS = (
    case("decimal_defaults", decimal(None, None), "decimal(10, 0)",  # which fastavro takes as bytes only
         ((-9999999999).to_bytes(5, signed=True), b"\0"), (Decimal(-9999999999), Decimal(0))),
    case("decimal_scale_default", decimal(5, None), "decimal(5, 0)", (Decimal(99999), Decimal(-1))),
    case("decimal_9_2", decimal(9, 2), "decimal(9, 2)", (Decimal("-1234567.89"), Decimal("0.01"))),
    case("decimal_18_18", decimal(18, 18), "decimal(18, 18)",
         (Decimal("0.999999999999999999"), Decimal("-0.000000000000000001"))),
    case("decimal_19_4", decimal(19, 4), "decimal(19, 4)",
         (Decimal("999999999999999.9999"), Decimal("-0.0001"))),
    case("decimal_38_10", decimal(38, 10), "decimal(38, 10)",
         (Decimal("9" * 28 + "." + "9" * 10), Decimal("-" + "9" * 28 + "." + "9" * 10))),
    case("decimal_fixed_4", decimal(9, 3, 4), "decimal(9, 3)", (Decimal("-999999.999"), Decimal("0.001"))),
    case("decimal_fixed_8", decimal(18, 0, 8), "decimal(18, 0)", (Decimal(10**18 - 1), Decimal(-1))),
    case("decimal_fixed_16", decimal(38, 38, 16), "decimal(38, 38)",
         (Decimal("-0." + "9" * 38), Decimal("0." + "0" * 37 + "1"))),
)  # fmt: skip

OPTIONAL = tuple(
    case(f"optional_{name}", ["null", schema], kind, (None, value), (None, read), optional=True)
    for name, schema, kind, value, read in (
        ("boolean", "boolean", "boolean", False, False),
        ("int", "int", "int", 0, 0),
        ("long", "long", "long", -1, -1),
        ("float", "float", "float", 0.25, 0.25),
        ("double", "double", "double", 0.1, 0.1),
        ("string", "string", "string", "", ""),
        ("bytes", "bytes", "binary", b"", b""),
        ("fixed", fixed("F2", 2), "binary", b"ab", b"ab"),
        ("enum", enum("Hue"), "string", "GREEN", "GREEN"),
        ("date", unit("int", "date"), "date", date(2024, 2, 29), date(2024, 2, 29)),
        ("time_millis", unit("int", "time-millis"), "long", LAST_MILLI, micros(LAST_MILLI)),
        ("timestamp", unit("long", "timestamp-millis"), "timestamptz", millis(LATER), millis(LATER)),
        ("decimal", decimal(4, 1), "decimal(4, 1)", Decimal("-999.9"), Decimal("-999.9")),
        ("record", record("Maybe", x="int"), "struct<1: x: required int>", {"x": 1}, {"x": 1}),
        ("list", array("int"), "list<int>", [], []),
        ("map", mapping("int"), "map<string, int>", {}, {}),
    )
)

NESTED = (
    case("null_last", ["string", "null"], "string", ("x", None), optional=True),
    case("one_branch", ["string"], "string", ("x", "")),
    case("record", record("Point", x="int", y=["null", "double"]),
         "struct<1: x: required int, 2: y: optional double>", ({"x": 1, "y": None}, {"x": 2, "y": 0.5})),
    case("deep", record("A", b=record("B", c=record("C", d=array(mapping("string"))))),
         "struct<1: b: required struct<2: c: required struct<3: d: required list<map<string, string>>>>>",
         ({"b": {"c": {"d": []}}}, {"b": {"c": {"d": [{}, {"k": TEXTS[1]}]}}})),
    case("list", array("long"), "list<long>", ([], [1, -(2**63), 2**63 - 1])),
    case("list_of_optional", array(["null", "string"]), "list<string>", ([None], ["a", None, ""])),
    case("list_of_lists", array(array("int")), "list<list<int>>", ([[]], [[1, 2], [], [3]])),
    case("list_of_records", array(record("Item", sku="string", at=unit("int", "time-millis"))),
         "list<struct<1: sku: required string, 2: at: required long>>",
         ([], [{"sku": "a", "at": MIDNIGHT}, {"sku": "b", "at": LAST_MILLI}]),
         ([], [{"sku": "a", "at": 0}, {"sku": "b", "at": micros(LAST_MILLI)}])),
    case("list_of_decimals", array(decimal(5, 2)), "list<decimal(5, 2)>",
         ([Decimal("1.10")], [Decimal("-999.99"), Decimal("0.00")])),
    case("list_of_timestamps", array(unit("long", "timestamp-micros")), "list<timestamptz>",
         ([FIRST], [LATER, FIRST])),
    case("map", mapping("string"), "map<string, string>", ({}, {"": "", TEXTS[1]: TEXTS[1]})),
    case("map_of_optional", mapping(["null", "long"]), "map<string, long>", ({"a": None}, {"b": 1})),
    case("map_of_lists", mapping(array("boolean")), "map<string, list<boolean>>",
         ({"a": []}, {"b": [True, False]})),
    case("map_of_times", mapping(unit("int", "time-millis")), "map<string, long>",
         ({"a": LAST_MILLI}, {}), ({"a": micros(LAST_MILLI)}, {})),
    case("map_of_records", mapping(record("Leg", km="float")), "map<string, struct<1: km: required float>>",
         ({"a": {"km": 1.5}}, {})),
    case("type_used_again", ["null", "Point"], "struct<1: x: required int, 2: y: optional double>",
         (None, {"x": -1, "y": 1.0}), optional=True),
)  # fmt: skip

ENTRIES = (
    case("connect_map", array(entry(CONNECT, "int", "string")), "map<int, string>",
         ([], [{"key": 1, "value": "a"}, {"key": -1, "value": ""}]), ({}, {1: "a", -1: ""})),
    case("named_connect_map",
         array(entry("Rates", "string", ["null", "double"], **{"connect.internal.type": "MapEntry"})),
         "map<string, double>", ([{"key": "a", "value": None}], [{"key": "b", "value": 0.5}]),
         ({"a": None}, {"b": 0.5})),
    case("logical_map", array(entry("ByDay", unit("int", "date"), array("long")), logicalType="map"),
         "map<date, list<long>>", ([{"key": date(2024, 2, 29), "value": [1]}], []),
         ({date(2024, 2, 29): [1]}, {})),
    case("map_of_times_by_time",
         array(entry("Shifts", unit("int", "time-millis"), unit("int", "time-millis")), logicalType="map"),
         "map<long, long>", ([{"key": MIDNIGHT, "value": LAST_MILLI}], []), ({0: micros(LAST_MILLI)}, {})),
    case("optional_key_map", array(entry("Loose", ["null", "string"], "int"), logicalType="map"),
         "map<string, int>", ([{"key": "k", "value": 1}], []), ({"k": 1}, {})),
    case("multiset", array(entry("Bag", "long", "int"), logicalType="map", **{"flink.type": "multiset"}),
         "map<long, int>", ([{"key": 7, "value": 2}], []), ({7: 2}, {})),
    case("multiset_of_strings", mapping("int", **{"flink.type": "multiset"}), "map<string, int>",
         ({"a": 3}, {})),
)  # fmt: skip

BOTH = "struct<1: int: optional int, 2: string: optional string>"
UNIONS = (
    case("union", ["int", "string"], BOTH, (1, "a"),
         ({"int": 1, "string": None}, {"int": None, "string": "a"})),
    case("optional_union", ["null", "int", "string"], BOTH, (None, 2),
         (None, {"int": 2, "string": None}), optional=True),
    case("union_int_long", ["int", "long"], "struct<1: int: optional int, 2: long: optional long>",
         (1, 2**40), ({"int": 1, "long": None}, {"int": None, "long": 2**40})),
    case("union_float_double", ["null", "float", "double"],
         "struct<1: float: optional float, 2: double: optional double>",
         (("float", 0.5), 0.1), ({"float": 0.5, "double": None}, {"float": None, "double": 0.1}),
         optional=True),
    case("union_of_records", [record("n1.Cat", lives="int"), record("n1.Dog", name="string")],
         "struct<1: Cat: optional struct<2: lives: required int>, "
         "3: Dog: optional struct<4: name: required string>>",
         ({"lives": 9}, {"name": "Rex"}),
         ({"Cat": {"lives": 9}, "Dog": None}, {"Cat": None, "Dog": {"name": "Rex"}})),
    case("union_of_namesakes", [record("n1.Key", a="int"), record("n2.Key", b="int"), "string"],
         "struct<1: n1_Key: optional struct<2: a: required int>, "
         "3: n2_Key: optional struct<4: b: required int>, 5: string: optional string>",
         ({"b": 1}, "s"),
         ({"n1_Key": None, "n2_Key": {"b": 1}, "string": None},
          {"n1_Key": None, "n2_Key": None, "string": "s"})),
    case("union_of_moments", [unit("int", "time-millis"), decimal(6, 2), "string"],
         "struct<1: int: optional long, 2: bytes: optional decimal(6, 2), 3: string: optional string>",
         (LAST_MILLI, Decimal("-12.34")),
         ({"int": micros(LAST_MILLI), "bytes": None, "string": None},
          {"int": None, "bytes": Decimal("-12.34"), "string": None})),
    case("union_of_containers", [array("int"), mapping("string"), "boolean"],
         "struct<1: array: optional list<int>, 2: map: optional map<string, string>, "
         "3: boolean: optional boolean>",
         ([1], {"k": "v"}),
         ({"array": [1], "map": None, "boolean": None}, {"array": None, "map": {"k": "v"}, "boolean": None})),
    case("list_of_unions", array(["null", "int", "string"]), f"list<{BOTH}>", ([1, None], ["a"]),
         ([{"int": 1, "string": None}, None], [{"int": None, "string": "a"}])),
    case("map_of_unions", mapping(["int", "string"]), f"map<string, {BOTH}>", ({"k": "a"}, {}),
         ({"k": {"int": None, "string": "a"}}, {})),
    case("record_of_unions", record("Holder", u=["int", "string"], n="int"),
         f"struct<1: u: required {BOTH}, 2: n: required int>",
         ({"u": "a", "n": 1}, {"u": 2, "n": 2}),
         ({"u": {"int": None, "string": "a"}, "n": 1}, {"u": {"int": 2, "string": None}, "n": 2})),
    case("union_in_union", [record("Inner", u=["int", "string"]), "long"],
         f"struct<1: Inner: optional struct<2: u: required {BOTH}>, 3: long: optional long>",
         ({"u": "a"}, 5),
         ({"Inner": {"u": {"int": None, "string": "a"}}, "long": None}, {"Inner": None, "long": 5})),
    case("hinted_union", ["int", "string"], "struct<1: number: optional int, 2: text: optional string>",
         (1, "a"), ({"number": 1, "text": None}, {"number": None, "text": "a"})),
)  # fmt: skip

ODD_KEYS = {"a.b": 1, "a-b": 2, "a b": 3, "select": 4, "שלום": 5, "🚋": 6, "": 7}
NAMES = (
    case("select", "int", "int", (1, 2)),
    case("Größe", "string", "string", ("a", "b")),
    case("שלום", "string", "string", ("a", "b")),
    case("odd_names", record("Odd", **{"from": "int", "Größe": "string", "שלום": ["null", "int"]}),
         "struct<1: from: required int, 2: Größe: required string, 3: שלום: optional int>",
         ({"from": 1, "Größe": "a", "שלום": 2}, {"from": 2, "Größe": "b", "שלום": None})),
    case("odd_branches", [record("v1.Event", a=["null", "int"]), record("v2.Event", b=["null", "int"])],
         "struct<1: v1_Event: optional struct<2: a: optional int>, "
         "3: v2_Event: optional struct<4: b: optional int>>",
         ({"a": 1}, {"b": 2}),
         ({"v1_Event": {"a": 1}, "v2_Event": None}, {"v1_Event": None, "v2_Event": {"b": 2}})),
    case("odd_hints", ["int", "string"], "struct<1: a_number: optional int, 2: b_text: optional string>",
         (1, "a"), ({"a_number": 1, "b_text": None}, {"a_number": None, "b_text": "a"})),
    case("odd_keys", mapping("int"), "map<string, int>", (ODD_KEYS, {})),
)  # fmt: skip

HINTS = {
    "hinted_union": {"confluent:union": [{"name": "number"}, {"name": "text"}]},
    "odd_hints": {"confluent:union": [{"name": "a.number"}, {"name": "b-text"}]},
}


def _produce(connections: Connections, topic: str) -> None:
    encode = AvroSerializer(connections.registry, json.dumps(wide()))
    context = SerializationContext(topic, MessageField.VALUE)
    sent: list[bytes] = []
    for n in range(RECORDS):
        values = {c.name: c.written[n] for c in AVRO.cases}
        sent.append(encode(values, context))
    send_values(connections, topic, sent)


def wide() -> dict[str, Any]:
    """The schema of a record with every case."""
    fields = [{"name": c.name, "type": c.schema, **HINTS.get(c.name, {})} for c in AVRO.cases]
    return {"type": "record", "name": "Wide", "namespace": "kit", "fields": fields}


AVRO = Format(
    "avro", (*SCALARS, *MOMENTS, *DECIMALS, *OPTIONAL, *NESTED, *ENTRIES, *UNIONS, *NAMES), _produce
)
