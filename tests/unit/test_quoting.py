"""Names and constants of others stay what they are: whatever takes them reads them back."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sqlglot
import yaml
from pyiceberg.expressions import EqualTo
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, StringType
from pyspark.sql import types as t
from sqlglot import exp

from frazil.derive.output import types_in
from frazil.derive.queries.types import fields
from frazil.formats.logical import Field, Primitive, Struct
from frazil.formats.types import spark_type
from frazil.landing.write import laid_out
from frazil.quoting import double_quoted, in_filter, in_shell, in_yaml, literal, quoted
from frazil.spec.names import TableName
from frazil.tables.filters import parse_filter
from frazil.tables.spark.session import spark_name

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
    "a-b",
    "my shop",
    "$$offset",
    "not",
    "on",
    "1",
    "🧊: {x}",
    "السعر",
)
PLATFORM = Path(__file__).parents[2] / "platform"


def read(expression: str, dialect: str = "spark") -> Any:
    return sqlglot.parse_one(f"SELECT {expression}", dialect=dialect).selects[0]


@pytest.mark.parametrize("text", ODD)
def test_a_name_or_a_constant_can_not_end_itself(text: str) -> None:
    assert read(quoted(text)).name == text
    assert [part.name for part in read(quoted(text, "b")).parts] == [text, "b"]
    assert [part.name for part in read(double_quoted(text, "b"), "duckdb").parts] == [text, "b"]
    constant = read(literal(text))
    assert (type(constant), constant.this) == (exp.Literal, text)


@pytest.mark.parametrize(("value", "expected"), [(True, "true"), (-3, "-3"), (1.5, "double('1.5')")])
def test_other_constants_are_of_their_type(value: float, expected: str) -> None:
    assert literal(value) == expected


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


@pytest.mark.parametrize("name", ODD)
def test_a_spec_and_a_shell_read_a_name_back(name: str) -> None:
    assert yaml.safe_load(f"columns: {{{in_yaml(name)}: optional}}") == {"columns": {name: "optional"}}
    assert shlex.split(f"frazil describe {in_shell(name)} --json") == ["frazil", "describe", name, "--json"]


@pytest.mark.parametrize("name", ODD)
def test_a_filter_finds_a_column_of_any_name(name: str) -> None:
    schema = Schema(NestedField(1, name, StringType()))

    assert parse_filter(schema, f"{in_filter(name)} = 'x'", "rows", "") == EqualTo(name, "x")


QUOTES = {"quoted", "double_quoted", "spark_name"}
KINDS = "TABLE|VIEW|COLUMN|ROLE|USER|SCHEMA|DATABASE|WAREHOUSE|VOLUME|INTEGRATION"
WORDS = re.compile(rf"\b({KINDS}|INSERT INTO|UPDATE|RENAME)\b")
STATEMENT = re.compile(rf"{WORDS.pattern}( IF( NOT)? EXISTS)? $")


def advice(tree: ast.AST) -> Iterator[ast.JoinedStr]:
    """The texts with names in them that tell what to do."""
    for node in ast.walk(tree):
        match node:
            case (
                ast.keyword(arg="todo", value=value) | ast.Assign(targets=[ast.Name(id="todo")], value=value)
            ):
                yield from (n for n in ast.walk(value) if isinstance(n, ast.JoinedStr))


def unquoted() -> Iterator[str]:
    """What stands right behind such words of a statement, and was not quoted there."""
    for file in sorted(PLATFORM.rglob("*.py")):
        source = file.read_text()
        for text in advice(ast.parse(source if WORDS.search(source) else "")):
            for before, part in zip(text.values, text.values[1:], strict=False):
                before_text = before.value if isinstance(before, ast.Constant) else ""
                if isinstance(part, ast.FormattedValue) and STATEMENT.search(str(before_text)):
                    called = part.value.func if isinstance(part.value, ast.Call) else None
                    if not (isinstance(called, ast.Name) and called.id in QUOTES):
                        yield f"{file.relative_to(PLATFORM)}:{part.lineno} {ast.unparse(part.value)}"


def test_no_statement_that_is_advised_names_a_thing_unquoted() -> None:
    assert list(unquoted()) == []
