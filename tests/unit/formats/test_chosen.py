"""What a spec says of single columns: left out, wider, or text; and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from frazil.errors import SpecError
from frazil.formats.columns.columns import record_columns
from frazil.formats.evolution import verdicts
from frazil.formats.logical import Decimal, Field, List, Primitive, Struct
from frazil.spec.topic import TableSpec

KEY = Struct((Field("id", Primitive("int")),))
VALUE = Struct(
    (
        Field("n", Primitive("int")),
        Field("real", Primitive("float")),
        Field("price", Decimal(9, 2)),
        Field("fine", Decimal(20, 9)),
        Field("ssn", Primitive("string"), optional=True, doc="Private."),
        Field("many", List(Primitive("int"))),
    )
)


def columns(words: dict[str, str], **spec: Any) -> dict[str, str]:
    actual = record_columns(TableSpec(topic="t", columns=words, **spec), KEY, VALUE)
    return {f.name: str(f.type) for f in actual.fields}


def test_a_field_is_left_out_and_the_others_stay() -> None:
    assert list(columns({"ssn": "leave_out", "many": "leave_out"})) == ["id", "n", "real", "price", "fine"]


def test_wider_types_and_text_take_the_place_of_those_of_the_schema() -> None:
    columns_read = columns({"id": "long", "n": "string", "real": "double", "price": "decimal(12, 2)"})

    assert [columns_read[name] for name in ("id", "n", "real", "price")] == [
        "long", "string", "double", "decimal(12,2)",
    ]  # fmt: skip


def test_a_field_that_the_schema_requires_may_be_optional() -> None:
    """So it can be taken in again where rows are that have no value of it."""
    value = Struct((Field("n", Primitive("int"), demanded=True),))
    (field,) = record_columns(TableSpec(topic="t", columns={"n": "optional"}), Struct(()), value).fields

    changes = list(verdicts(Struct((Field("other", Primitive("int"), optional=True),)), [field], ()))

    assert [(v.change, v.allowed) for v in changes if v.change == "add"] == [("add", True)]


def test_what_is_left_out_may_have_a_name_that_no_table_takes() -> None:
    value = Struct((Field("n", Primitive("int")), Field("$$offset", Primitive("int"))))
    spec = TableSpec(topic="t", columns={"$$offset": "leave_out"})

    assert [f.name for f in record_columns(spec, Struct(()), value).fields] == ["n"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({"many.element": "leave_out"}, "many.element is within many, and only whole columns are named here"),
        ({"sn": "leave_out"}, "neither key nor value has a field sn"),
        ({"n": "float"}, "n is int, and float does not hold"),
        ({"real": "string"}, "real is float"),
        ({"fine": "string"}, r"fine is decimal\(20,9\)"),
        ({"price": "decimal(8,2)"}, r"price is decimal\(9,2\)"),
        ({"price": "decimal(12,3)"}, r"price is decimal\(9,2\)"),
        ({"many": "string"}, "many is list<int>"),
        ({"ssn": "long"}, "ssn is string"),
    ],
)
def test_what_is_not_there_or_may_not_fit_is_refused(words: dict[str, str], why: str) -> None:
    with pytest.raises(SpecError, match=why):
        columns(words)


@pytest.mark.parametrize("word", ["leave_out", "long"])
def test_what_tells_rows_apart_stays_as_it_is(word: str) -> None:
    with pytest.raises(SpecError, match="id tells rows apart"):
        columns({"id": word}, mode="upsert")


@pytest.mark.parametrize(
    ("words", "mended"),
    [
        ({"sn": "leave_out"}, {"ssn": "leave_out"}),
        ({"n": "float"}, {"n": "long"}),
        ({"many.element": "leave_out"}, {"many": "leave_out"}),
    ],
)
def test_a_word_that_is_mended_or_taken_out_costs_no_other_column(
    words: dict[str, str], mended: dict[str, str]
) -> None:
    with pytest.raises(SpecError) as refused:
        columns(words)

    left_out = {name for name, word in mended.items() if word == "leave_out"}

    assert refused.value.todo == "Fix columns in defs.yaml, or take the name out."
    assert columns(mended).keys() == columns({}).keys() - left_out
    assert columns({}) == {f.name: str(f.type) for f in (*KEY, *VALUE)}
