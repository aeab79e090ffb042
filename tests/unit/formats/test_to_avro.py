"""Schemas that Frazil writes mean to its own reader what they were made from."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal as Number
from typing import Any

import fastavro
import pytest

from frazil.errors import SpecError
from frazil.formats.avro.schemas.logical import avro_to_logical
from frazil.formats.avro.schemas.written import avro_name, avro_record, avro_value
from frazil.formats.logical import Decimal, Field, List, Map, Primitive, Struct, Type

LONG, TEXT = Primitive("long"), Primitive("string")
PLACE = Struct((Field("city", TEXT), Field("zip", TEXT, optional=True)))
OSLO = {"city": "Oslo", "zip": None}
TYPES: tuple[Type, ...] = (
    *(Primitive(kind) for kind in ("boolean", "int", "long", "float", "double", "string", "binary")),
    *(Primitive(kind) for kind in ("date", "timestamp", "timestamptz")),
    Decimal(10, 2), List(LONG), List(TEXT, element_optional=True), Map(TEXT, LONG, value_optional=True),
    Map(LONG, TEXT), PLACE, List(PLACE), Map(TEXT, List(PLACE)),
)  # fmt: skip


def record(fields: Struct) -> dict[str, Any]:
    return avro_record(fields, "orders", "frazil.shop")


@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_a_column_is_read_as_what_it_was(kind: Type, optional: bool) -> None:
    fields = Struct((Field("id", LONG), Field("value", kind, optional)))

    assert avro_to_logical(json.dumps(record(fields)), "orders-value") == fields


def test_two_places_of_the_same_shape_are_two_records() -> None:
    fields = Struct((Field("home", PLACE), Field("work", List(PLACE))))

    assert avro_to_logical(json.dumps(record(fields)), "orders-value") == fields


@pytest.mark.parametrize(
    ("kind", "value", "written"),
    [
        (Decimal(10, 2), Number("1.50"), Number("1.50")),
        (Primitive("timestamptz"), datetime(2026, 11, 21, tzinfo=UTC), datetime(2026, 11, 21, tzinfo=UTC)),
        (Primitive("timestamp"), datetime(2026, 11, 21), datetime(2026, 11, 21)),
        (Primitive("date"), date(2026, 11, 21), date(2026, 11, 21)),
        (Map(TEXT, LONG), [("a", 1)], {"a": 1}),
        (Map(LONG, TEXT), [(1, "a")], [{"key": 1, "value": "a"}]),
        (List(Map(TEXT, PLACE)), [[("a", OSLO)]], [{"a": OSLO}]),
    ],
    ids=str,
)  # fmt: skip
def test_a_value_as_arrow_gives_it_is_written(kind: Type, value: object, written: object) -> None:
    fields = Struct((Field("value", kind, optional=True),))
    schema, stream = fastavro.parse_schema(record(fields)), io.BytesIO()

    for given in (value, None):
        fastavro.schemaless_writer(stream, schema, avro_value(fields)({"value": given}))

    stream.seek(0)
    read = [fastavro.schemaless_reader(stream, schema, None) for _ in range(2)]
    assert read == [{"value": written}, {"value": None}]


@pytest.mark.parametrize(
    ("name", "avro"), [("$$timestamp", "__timestamp"), ("2nd", "_2nd"), ("a b", "a_b"), ("plain", "plain")]
)
def test_a_name_that_avro_does_not_take_gets_underscores(name: str, avro: str) -> None:
    assert avro_name(name) == avro
    assert [f["name"] for f in record(Struct((Field(name, LONG),)))["fields"]] == [avro]


def test_two_columns_of_one_avro_name_are_refused_until_one_has_another() -> None:
    with pytest.raises(SpecError, match="Avro field a_b") as refused:
        record(Struct((Field("a b", LONG), Field("a-b", LONG))))

    named = Struct((Field("a b", LONG), Field("other", LONG)))
    assert refused.value.todo == "Give one of the columns another name in the query."
    assert [f["name"] for f in record(named)["fields"]] == ["a_b", "other"]
