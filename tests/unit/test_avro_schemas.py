"""Avro schemas: what they become, what is refused, and which reader each writer gets."""

from __future__ import annotations

import json
from typing import Any

import pytest

from frazil.errors import SchemaRefusedError
from frazil.schemas.avro import avro_to_logical
from frazil.schemas.iceberg import from_iceberg, spark_type, to_iceberg
from frazil.schemas.logical import Decimal, Field, Fixed, List, Map, Primitive, Struct
from frazil.schemas.pairs import can_read, reader_for


def record(*fields: tuple[str, Any], name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields]}


def logical(kind: Any) -> Field:
    return avro_to_logical(json.dumps(record(("f", kind))), "s-value").fields[0]


@pytest.mark.parametrize(
    ("avro", "expected"),
    [
        ("boolean", Primitive("boolean")),
        ("int", Primitive("int")),
        ("long", Primitive("long")),
        ("float", Primitive("float")),
        ("double", Primitive("double")),
        ("string", Primitive("string")),
        ("bytes", Primitive("binary")),
        ({"type": "fixed", "name": "F", "size": 4}, Fixed(4)),
        ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, Decimal(9, 2)),
        ({"type": "fixed", "name": "F", "size": 8, "logicalType": "decimal", "precision": 9}, Decimal(9, 0)),
        ({"type": "int", "logicalType": "date"}, Primitive("date")),
        ({"type": "long", "logicalType": "time-micros"}, Primitive("long")),
        ({"type": "long", "logicalType": "timestamp-millis"}, Primitive("timestamptz")),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, Primitive("timestamp")),
        ({"type": "string", "logicalType": "uuid"}, Primitive("string")),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, Primitive("string")),
        (record(("x", "int"), name="N"), Struct((Field("x", Primitive("int")),))),
        ({"type": "array", "items": ["null", "int"]}, List(Primitive("int"), element_optional=True)),
        ({"type": "map", "values": "long"}, Map(Primitive("string"), Primitive("long"))),
    ],
)
def test_each_avro_type_has_its_column_type(avro: Any, expected: Any) -> None:
    assert logical(avro) == Field("f", expected)


def test_null_in_a_union_makes_the_column_optional() -> None:
    assert logical(["null", "string"]) == Field("f", Primitive("string"), optional=True)


@pytest.mark.parametrize(
    ("avro", "why"),
    [
        (["int", "string"], "a union of 2 types"),
        ("null", "type 'null' has no column type"),
        ({"type": "int", "logicalType": "time-millis"}, "time-millis"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 39}, "decimal"),
        (record(name="N"), "a record without fields"),
        (record(("a", "int"), ("A", "int"), name="N"), "differ by case only"),
        (record(("again", ["null", "R"]), name="N"), "contains itself"),
    ],
)
def test_what_no_column_can_hold_is_refused_with_the_path_of_the_field(avro: Any, why: str) -> None:
    with pytest.raises(SchemaRefusedError, match=rf"{why}[\s\S]*subject s-value, field f"):
        logical(avro)


def test_a_logical_schema_survives_iceberg() -> None:
    fields = avro_to_logical(
        json.dumps(
            record(
                ("a", "int"), ("b", ["null", {"type": "map", "values": {"type": "array", "items": "string"}}])
            )
        ),
        "s",
    )

    assert from_iceberg(to_iceberg(fields)) == fields


def test_spark_ddl_quotes_names() -> None:
    assert spark_type(Struct((Field("a b", Primitive("long")),))) == "struct<`a b`:bigint>"


def test_a_reader_keeps_the_writers_logical_types() -> None:
    millis = {"type": "long", "logicalType": "timestamp-millis"}
    micros = {"type": "long", "logicalType": "timestamp-micros"}
    writer = record(("t", millis), ("n", ["null", {"type": "array", "items": millis}]))
    reader = record(
        ("t", micros), ("n", ["null", {"type": "array", "items": micros}]), ("new", ["null", "int"])
    )

    assert reader_for(writer, reader) == record(
        ("t", millis), ("n", ["null", {"type": "array", "items": millis}]), ("new", ["null", "int"])
    )


def test_an_illegal_pair_is_found_before_any_record_is_read() -> None:
    assert can_read(record(("a", "int")), record(("a", "long")))
    assert not can_read(record(("a", "long")), record(("a", "int")))
