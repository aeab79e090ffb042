"""A filter means the columns and texts that stand in it, whatever they are made of."""

from __future__ import annotations

import pytest
from pyiceberg.expressions import BooleanExpression, EqualTo, In, IsNull, Not, Or, StartsWith
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, StringType, StructType

from frazil.errors import UsageError
from frazil.quoting import in_filter
from frazil.tables.filters import parse_filter
from frazil.upkeep.forgetting.condition import condition_of

ODD = (
    "back\\slash",
    "\\",
    "ends\\",
    'quo"te',
    '"',
    '""',
    "a`b",
    "it's",
    "a.b",
    "tab\there",
    "line\nend",
    "\r",
    "\x01\x1f",
    "🧊",
    "\U00100000",
    " a ",
    "not",
    "100%",
    "\\%",
    "\\n",
    "x in ('y')",
    "' or true --",
)


def of(*names: str) -> Schema:
    return Schema(*(NestedField(n, name, StringType()) for n, name in enumerate(names, 1)))


def parsed(schema: Schema, where: str) -> BooleanExpression:
    return parse_filter(schema, where, "rows", "Nothing was changed.")


@pytest.mark.parametrize("name", ODD)
def test_a_column_of_any_name_is_found_by_its_name_in_quotes(name: str) -> None:
    doubled = name.replace('"', '""')

    assert parsed(of(name), f"\"{doubled}\" = 'x'") == EqualTo(name, "x")
    assert parsed(of(name), f"{in_filter(name)} = 'x'") == EqualTo(name, "x")


@pytest.mark.parametrize("text", ODD)
def test_a_text_is_the_one_that_was_written(text: str) -> None:
    doubled = text.replace("'", "''")

    assert parsed(of("c"), f"c = '{doubled}'") == EqualTo("c", text)
    assert parsed(of("c"), f"c in ('{doubled}', 'b')") == In("c", {text, "b"})
    (match,) = condition_of(of("c"), f"'{doubled}' = c").matches
    assert match == (("c", (text,)),)


def test_every_part_of_a_filter_is_shown_again() -> None:
    schema = of("a\\", 'b"', "c.d")

    expression = parsed(schema, 'not "a\\" is null or "b""" like \'x\t%\' or c.d = \'50\\%\'')

    assert expression == Or(Not(IsNull("a\\")), StartsWith('b"', "x\t"), EqualTo("c.d", "50\\%"))


def test_a_part_of_a_struct_is_named_with_dots_within_or_between_quotes() -> None:
    inner = StructType(NestedField(2, "x y", StringType()))
    schema = Schema(NestedField(1, "s", inner))

    for where in ("s.\"x y\" = 'v'", "\"s.x y\" = 'v'", '"s"."x y" = \'v\''):
        assert parsed(schema, where) == EqualTo("s.x y", "v")


@pytest.mark.parametrize("where", ["c = 'open", "c = 'it's'", '"c = 1', "c = 'a\\'b'", "\"c\\\" = 'x'"])
def test_what_does_not_end_is_refused(where: str) -> None:
    with pytest.raises(UsageError, match="is no filter over rows"):
        parsed(of("c"), where)


def test_what_is_not_understood_is_told_as_it_was_written() -> None:
    with pytest.raises(UsageError) as refused:
        parsed(of("c"), "c = 'x\\' and 'tab\t' ??")

    assert refused.value.where == "not understood from " + repr("'tab\t' ??") + " on"
