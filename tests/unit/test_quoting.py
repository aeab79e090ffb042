"""Names and constants of others stay what they are in SQL: sqlglot reads them back."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import sqlglot
from pyspark.sql import types as t
from sqlglot import exp

from frazil.derive.output import types_in
from frazil.derive.queries.types import fields
from frazil.formats.logical import Field, Primitive, Struct
from frazil.formats.types import spark_type
from frazil.landing.write import laid_out
from frazil.quoting import double_quoted, literal, quoted
from frazil.spec.names import TableName
from frazil.tables.spark import spark_name

ODD = (
    "a`b",
    "``",
    "it's",
    "ends\\",
    "\\'",
    'a"b',
    "a.b",
    "a, b",
    "--",
    "/*",
    "`:int>) ,reflect('x','y')--",
    "Ž",
)


def read(expression: str, dialect: str = "spark") -> Any:
    return sqlglot.parse_one(f"SELECT {expression}", dialect=dialect).selects[0]


@pytest.mark.parametrize("text", ODD)
def test_a_name_or_a_constant_can_not_end_itself(text: str) -> None:
    assert read(quoted(text)).name == text
    assert [part.name for part in read(quoted(text, "b")).parts] == [text, "b"]
    assert [part.name for part in read(double_quoted(text, "b"), "duckdb").parts] == [text, "b"]
    constant = read(literal(text))
    assert (type(constant), constant.this) == (exp.Literal, text)


@pytest.mark.parametrize(("value", "said"), [(True, "true"), (-3, "-3"), (1.5, "double('1.5')")])
def test_other_constants_are_of_their_type(value: float, said: str) -> None:
    assert literal(value) == said


@pytest.mark.parametrize("name", ODD)
def test_types_of_nested_columns_hold_any_name(name: str) -> None:
    kind = spark_type(Struct((Field(name, Primitive("long")), Field("b", Primitive("string")))))
    inner = t.StructType().add(name, t.LongType()).add("b", t.StringType())
    rows: Any = SimpleNamespace(schema=t.StructType().add("s", inner))

    assert fields(kind) == {name: "bigint", "b": "string"}
    assert types_in(rows) == {"s": kind}


@pytest.mark.parametrize("name", ODD)
def test_a_struct_that_is_laid_out_anew_keeps_its_names(name: str) -> None:
    text, number = Field(name, Primitive("string")), Field("b", Primitive("long"))

    (made,) = read(laid_out("x", Struct((number, text)), Struct((text, number)))).find_all(exp.Struct)

    assert [part.name for part in made.expressions] == [name, "b"]


def test_a_table_has_one_name_per_part() -> None:
    assert spark_name(TableName("a`b", "c")) == "`frazil`.`a``b`.`c`"
