"""Typed columns over JSON text: what a spec may ask for, and the SQL that Snowflake gets."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import ValidationError
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType
from sqlglot import exp, parse_one

from frazil.errors import SpecError
from frazil.publishing.snowflake.views.typed import check_typed, typed_columns
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from unit.test_quoting import ODD

TEXT = {"topic": "clicks", "key_format": "string", "value_format": "string"}
ID = {"name": "id", "type": "long"}


def spec(*typed: dict[str, Any], of: str = "value", **more: Any) -> TableSpec:
    return TableSpec(**{**TEXT, "typed": {of: typed}, **more})


@pytest.mark.parametrize("name", ODD)
def test_a_name_in_the_json_and_a_column_of_any_name_stay_what_they_are(name: str) -> None:
    listed = spec({**ID, "path": ["a", name]}, of=name, key_format="auto", value_format="avro")

    (sql,) = typed_columns(listed, [name]).values()

    read = parse_one(f"SELECT {sql}", dialect="snowflake")
    assert [column.name for column in read.find_all(exp.Column)] == [name]
    steps = [literal.this for literal in read.find_all(exp.Literal) if literal.is_string]
    assert name in steps


@pytest.mark.parametrize(
    ("field", "more", "expected"),
    [
        ({"name": "x", "type": "binary"}, {}, "no column of type binary; write json"),
        ({"name": "x", "type": "list<long>"}, {}, "no column of type list<long>; write json"),
        ({"name": "x", "type": "integer"}, {}, "'integer' is no type of a field"),
        ({**ID, "optional": True}, {}, "Extra inputs"),
        ({"name": "Value", "type": "long"}, {}, "the table has a column Value itself"),
        (ID, {"of": "v"}, "v is no column of the table; with text are: key, value"),
        (ID, {"of": "key", "key_format": "bytes"}, "key holds no JSON text; with text are: value"),
        (ID, {"value_format": "json", "fields": [ID]}, "value is no column of the table; with text are: key"),
        (ID, {"publish": ["glue"]}, "write publish: [glue, snowflake]"),
        (ID, {"columns": {"value": {"mask": "hash"}}}, "value is masked, dropped or left out"),
        (ID, {"columns": {"value": "leave_out"}}, "value is masked, dropped or left out"),
    ],
)
def test_what_can_not_be_meant_is_a_mistake_of_the_spec(
    field: dict[str, Any], more: dict[str, Any], expected: str
) -> None:
    with pytest.raises(ValidationError) as error:
        spec(field, **more)

    assert expected in str(error.value)


def test_two_typed_columns_of_one_name_are_refused_whatever_they_are_read_from() -> None:
    with pytest.raises(ValidationError, match="typed: two columns are named id"):
        TableSpec(**TEXT, typed={"key": [ID], "value": [{**ID, "name": "ID"}]})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"body": LongType(), "note": StringType()}, "the table has no column body of text"),
        ({"note": StringType()}, "the table has no column body of text"),
        ({"body": StringType(), "ID": LongType()}, "the table has a column id itself"),
    ],
)
def test_where_only_the_table_knows_its_columns_a_mistake_is_found_and_mended_as_it_says(
    columns: dict[str, Any], expected: str
) -> None:
    schema = Schema(*(NestedField(n, name, kind) for n, (name, kind) in enumerate(columns.items(), 1)))

    def check(name: str, of: str) -> None:
        listed = spec({**ID, "name": name}, of=of, key_format="auto", value_format="avro")
        check_typed(listed, TableName("shop", "clicks"), schema)

    with pytest.raises(SpecError, match=expected) as mistake:
        check("id", "body")
    named = re.fullmatch(r"Name one of (.*)\.|Name the typed one otherwise\.", mistake.value.todo)
    assert named
    check("id" if named[1] else "other", named[1] or "body")
