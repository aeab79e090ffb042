"""Avro schemas: what they become, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from frazil.errors import SchemaRefusedError
from frazil.formats.avro.schemas.logical import avro_to_logical
from frazil.formats.logical import Decimal, Field, Fixed, List, Map, Primitive, Struct, Type
from frazil.formats.types import from_iceberg, spark_type, to_iceberg

INT, LONG, STRING = Primitive("int"), Primitive("long"), Primitive("string")


def record(*fields: tuple[str, Any], name: str = "R", **more: Any) -> dict[str, Any]:
    listed = [{"name": n, "type": t} for n, t in fields]
    return {"type": "record", "name": name, "fields": listed, **more}


def logical(kind: Any, **field: Any) -> Field:
    schema = {"type": "record", "name": "R", "fields": [{"name": "f", "type": kind, **field}]}
    return avro_to_logical(json.dumps(schema), "s-value").fields[0]


def branches(*fields: tuple[str, Type]) -> Struct:
    return Struct(tuple(Field(n, t, optional=True) for n, t in fields))


def fixed_decimal(size: int, **more: int) -> dict[str, Any]:
    return {"type": "fixed", "name": "F", "size": size, "logicalType": "decimal", **more}


ENTRY = record(("key", "int"), ("value", ["null", "string"]), name="E")


@pytest.mark.parametrize(
    ("avro", "expected"),
    [
        ("boolean", Primitive("boolean")),
        ("int", INT),
        ({"type": "int", "connect.type": "int8"}, INT),
        ({"type": "int", "connect.type": "int32"}, INT),
        ("long", LONG),
        ("float", Primitive("float")),
        ("double", Primitive("double")),
        ("string", STRING),
        ({"type": {"type": "string", "avro.java.string": "String"}}, STRING),
        ("bytes", Primitive("binary")),
        ({"type": "fixed", "name": "F", "size": 4}, Fixed(4)),
        ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, Decimal(9, 2)),
        ({"type": "bytes", "logicalType": "decimal"}, Decimal(10, 0)),
        ({"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 2}, Decimal(38, 2)),
        (fixed_decimal(27, precision=64, scale=38), Decimal(38, 38)),
        (fixed_decimal(8, precision=9), Decimal(9, 0)),
        (fixed_decimal(2, precision=9, scale=1), Decimal(4, 1)),
        ({"type": "int", "logicalType": "date"}, Primitive("date")),
        ({"type": "int", "logicalType": "time-millis"}, LONG),
        ({"type": "long", "logicalType": "time-micros"}, LONG),
        ({"type": "long", "logicalType": "time-millis"}, LONG),
        ({"type": "int", "logicalType": "time-micros"}, INT),
        ({"type": "int", "logicalType": "timestamp-micros"}, INT),
        ({"type": "int", "logicalType": "timestamp-nanos"}, INT),
        ({"type": "long", "logicalType": "date"}, LONG),
        ({"type": "string", "logicalType": "timestamp-millis"}, STRING),
        ({"type": "string", "logicalType": "decimal", "precision": 99}, STRING),
        ({"type": "long", "logicalType": "timestamp-millis"}, Primitive("timestamptz")),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, Primitive("timestamp")),
        ({"type": "string", "logicalType": "uuid"}, STRING),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, STRING),
        (record(("x", "int"), name="N"), Struct((Field("x", INT),))),
        ({"type": "array", "items": ["null", "int"]}, List(INT, element_optional=True)),
        ({"type": "map", "values": "long"}, Map(STRING, LONG)),
        ({"type": "map", "values": "int", "flink.type": "multiset"}, Map(STRING, INT)),
        ({"type": "array", "items": ENTRY, "logicalType": "map"}, Map(INT, STRING, value_optional=True)),
        (
            {"type": "array", "items": {**ENTRY, "connect.internal.type": "MapEntry"}},
            Map(INT, STRING, value_optional=True),
        ),
        (
            {"type": "array", "items": {**ENTRY, "name": "io.confluent.connect.avro.MapEntry"}},
            Map(INT, STRING, value_optional=True),
        ),
        (["string"], STRING),
        (["int", "string"], branches(("int", INT), ("string", STRING))),
        (["int", "long"], branches(("int", INT), ("long", LONG))),
        (
            [record(("x", "int"), name="a.N"), record(("y", "int"), name="b.N"), "int"],
            branches(("a_N", Struct((Field("x", INT),))), ("b_N", Struct((Field("y", INT),))), ("int", INT)),
        ),
    ],
)
def test_each_avro_type_has_its_column_type(avro: Any, expected: Any) -> None:
    assert logical(avro) == Field("f", expected)


def test_null_in_a_union_makes_the_column_optional() -> None:
    assert logical(["null", "string"]) == Field("f", STRING, optional=True)
    assert logical(["int", "null", "string"]).optional


def test_a_field_may_name_the_branches_of_its_union() -> None:
    hints = {"confluent:union": [{"name": "number"}, {}]}
    odd = {"confluent:union": [{"name": "a.number-1"}, {"name": "Größe"}]}

    assert logical(["int", "string"], **odd).type == branches(("a_number_1", INT), ("Größe", STRING))
    expected = branches(("number", INT), ("string", STRING))
    assert logical(["null", "int", "string"], **hints).type == expected
    assert logical({"type": "array", "items": ["int", "string"]}, **hints).type == List(expected)


@pytest.mark.parametrize(
    ("avro", "why"),
    [
        ("null", "type 'null' has no column type"),
        (["null"], "a union of null alone has no column type"),
        ({"type": "long", "logicalType": "timestamp-nanos"}, "Spark keeps microseconds"),
        ({"type": "long", "logicalType": "local-timestamp-nanos"}, "Spark keeps microseconds"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 39}, "decimal"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 10}, "decimal"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 3}, "decimal"),
        (record(name="N"), "a record without fields"),
        (record(("a", "int"), ("A", "int"), name="N"), "a and A differ by case only"),
        (record(("a", "int"), ("a", "int"), name="N"), "a is there twice"),
        (["int", "int"], "int is there twice"),
        (record(("again", ["null", "R"]), name="N"), "contains itself"),
        (record(("b", "bytes"), name="confluent.type.Variant"), "a variant needs format version 3"),
        ("Elsewhere", "type Elsewhere is defined nowhere"),
        ({"type": "array", "items": record(("key", "int"), name="N"), "logicalType": "map"}, "key and value"),
        ({"type": "map", "values": "long", "flink.type": "multiset"}, "a multiset counts in int"),
        (record(("a", "int"), name="x.it's"), r"\"it's\" is no name in Avro"),
        ({"type": "fixed", "name": "a`b", "size": 4}, "'a`b' is no name in Avro"),
    ],
)
def test_what_no_column_can_hold_is_refused_with_the_path_of_the_field(avro: Any, why: str) -> None:
    with pytest.raises(SchemaRefusedError, match=rf"{why}[\s\S]*subject s-value, field f"):
        logical(avro)


@pytest.mark.parametrize("name", ["a`b", "it's", "a b", "a-b", "a.b", "1a", "", "', reflect('x', 'y"])
def test_a_field_needs_a_name_of_letters_and_digits(name: str) -> None:
    with pytest.raises(SchemaRefusedError, match=r"is no name in Avro[\s\S]*field f\."):
        logical(record(("Größe_1", "int"), (name, "int"), name="N"))


def nested(depth: int) -> Any:
    return {"type": "array", "items": nested(depth - 1)} if depth else "int"


def doubling(depth: int) -> Any:
    """A record that holds two of a record that holds two, and so on."""
    inner = doubling(depth - 1) if depth else "int"
    return record(("a", inner), ("b", inner if depth == 0 else f"N{depth - 1}"), name=f"N{depth}")


@pytest.mark.parametrize(
    ("avro", "why"), [(nested(100), "nested more than 64 levels"), (doubling(30), "more than 20000 nested")]
)
def test_a_schema_that_would_take_for_ever_is_refused(avro: Any, why: str) -> None:
    with pytest.raises(SchemaRefusedError, match=why):
        logical(avro)


NO_NUMBER = '{"type": "bytes", "logicalType": "decimal", "precision": "ten"}'


@pytest.mark.parametrize("text", ["{", '{"type": "record"}', '{"name": "x"}', "3", NO_NUMBER])
def test_what_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(SchemaRefusedError, match=r"it is no Avro schema[\s\S]*s-value"):
        avro_to_logical(text, "s-value")


def test_a_schema_may_refer_to_other_subjects() -> None:
    city = record(("name", "string"), name="City", namespace="geo")
    address = record(("city", "geo.City"), name="Address", namespace="geo")
    person = record(("home", "geo.Address"), ("work", ["null", "geo.City"]), name="Person", namespace="hr")
    needed = [("geo.City", json.dumps(city)), ("geo.Address", json.dumps(address))]

    columns = avro_to_logical(json.dumps(person), "s", needed)

    has_name = Struct((Field("name", STRING),))
    assert columns == Struct(
        (Field("home", Struct((Field("city", has_name),))), Field("work", has_name, optional=True))
    )


@pytest.mark.parametrize(("root", "optional"), [('"long"', False), ('["null", "long"]', True)])
def test_a_schema_that_is_no_record_is_one_column_named_by_its_half(root: str, optional: bool) -> None:
    assert avro_to_logical(root, "s-key", root="key") == Struct((Field("key", LONG, optional),))


def test_a_logical_schema_survives_iceberg() -> None:
    listed = {"type": "map", "values": {"type": "array", "items": "string"}}
    fields = avro_to_logical(json.dumps(record(("a", "int"), ("b", ["null", listed]))), "s")

    assert from_iceberg(to_iceberg(fields)) == fields


def test_spark_ddl_quotes_names() -> None:
    assert spark_type(Struct((Field("a b", LONG),))) == "struct<`a b`:bigint>"
