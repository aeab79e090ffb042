"""The key of an upsert table: which columns tell rows apart, and what can't."""

from __future__ import annotations

import pytest

from frazil.errors import FrazilError
from frazil.formats.columns.columns import RecordColumns
from frazil.formats.logical import Decimal, Field, List, Primitive, Struct
from frazil.formats.row_key import NO_KEY, row_key
from frazil.spec.topic import TableSpec

ID, TEXT = Field("id", Primitive("long")), Field("text", Primitive("string"))
SHORT_ID = Field("id", Primitive("int"))
PRICE, TAGS = Field("price", Primitive("double")), Field("tags", List(Primitive("string")))
AMOUNT = Field("amount", Decimal(9, 2))


def columns(key: tuple[Field, ...], *value: Field) -> RecordColumns:
    return RecordColumns(Struct(key), Struct(value))


def spec(*key_fields: str) -> TableSpec:
    return TableSpec(topic="t", mode="upsert", key_fields=key_fields)


def test_the_key_is_the_fields_of_the_records_key() -> None:
    key = row_key(spec(), columns((ID, AMOUNT), TEXT, ID))

    assert dict(key.columns) == {"id": "_key.`id`", "amount": "_key.`amount`"}


def test_fields_that_are_named_may_stand_in_the_value() -> None:
    key = row_key(spec("text", "id"), columns((ID,), TEXT))

    assert dict(key.columns) == {"text": "_value.`text`", "id": "_key.`id`"}
    assert key.missing(b"k", None) == (
        "null_key",
        "the value is null, and text of the key stands in it: no row can be told",
    )


def test_where_every_record_is_a_row_nothing_tells_rows_apart() -> None:
    assert row_key(TableSpec(topic="t"), columns((PRICE,), TEXT)) is NO_KEY


def test_a_record_without_a_key_is_told_by_what_it_lacks() -> None:
    key = row_key(spec(), columns((ID, AMOUNT), TEXT))

    assert key.missing(None, b"v") == ("null_key", "the record has no key: nothing tells which row it is")
    assert key.missing(b"k", None) == ("null_key", "the key is not whole: id or amount is null")


@pytest.mark.parametrize(
    ("of", "names", "expected"),
    [
        (columns((PRICE,)), (), "field price is double, and such values can't tell rows apart"),
        (columns((), TAGS, ID), ("id", "tags"), "field tags is list<string>, and such values"),
        (
            columns((ID,), Field("id", Primitive("int"))),
            (),
            "field id is long in the key, and int in the value",
        ),
        (columns((), ID), (), "mode: upsert needs a key, and the topic's keys have no field"),
        (columns((ID,), TEXT), ("idd",), "key_fields: neither key nor value has a field idd"),
    ],
)
def test_what_is_no_key_is_refused_with_the_field(
    of: RecordColumns, names: tuple[str, ...], expected: str
) -> None:
    with pytest.raises(FrazilError) as refused:
        row_key(spec(*names), of)

    assert expected in refused.value.what
    assert "key_fields" in refused.value.todo


@pytest.mark.parametrize("named", ["id", "order_id"])
@pytest.mark.parametrize("there", ["id", "order_id"])
def test_a_field_of_the_key_is_known_by_both_names_of_an_approved_rename(named: str, there: str) -> None:
    move = {"id": "m", "rename": {"from": "id", "to": "order_id"}}
    of = TableSpec.model_validate(
        {"topic": "t", "mode": "upsert", "key_fields": (named,), "migrations": (move,)}
    )

    assert dict(row_key(of, columns((Field(there, Primitive("long")),), TEXT)).columns) == {
        there: f"_key.`{there}`"
    }
