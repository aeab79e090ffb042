"""Checks are understood when the YAML is read, and asked of the columns that the table gets."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from frazil.errors import SpecError
from frazil.expressions.parsing import read_expression
from frazil.formats.checks.binding import bound, bound_checks, refuse_unknown
from frazil.formats.logical import Decimal, Field, List, Map, Primitive, Struct
from frazil.spec.derived import DerivedSpec
from frazil.spec.topic import TableSpec

TEXT = Primitive("string")
HOME = Struct((Field("city", TEXT, True), Field("a.b", Primitive("int"), True)))
FIELDS = (
    Field("id", Primitive("long")), Field("amount", Decimal(10, 2), True), Field("who", TEXT, True),
    Field("home", HOME, True), Field("at", Primitive("timestamptz"), True), Field("day", Primitive("date")),
    Field("local", Primitive("timestamp")), Field("tags", List(TEXT)), Field("by", Map(TEXT, TEXT)),
    Field("u", Primitive("uuid")), Field("x.y", Primitive("double")), Field("flag", Primitive("boolean")),
)  # fmt: skip


PAGE = (Path(__file__).parents[3] / "docs" / "checks.md").read_text()


def spec(**more: Any) -> TableSpec:
    return TableSpec.model_validate({"topic": "t", "on_bad_record": "dead_letter", **more})


@pytest.mark.parametrize(
    "text",
    [
        "id > 0 and amount >= 0.00", "home.city <> ''", '"home.city" is null', 'home."a.b" = 1',
        '"x.y" < 1e3',
        "at <= now() + interval 1 hour", "local < at", "day > '2020-01-01'", "size(tags) < 10",
        "size(by) = 0",
        "u <> '6f1c1cba-0000-4000-8000-000000000000'", "flag", "not flag", "count(distinct u) = count(*)",
        "max(at) > now() - interval 1 day", "sum(amount * id) < 1e18", "max(day) >= '2020-01-01'",
        "count(who) >= 0.99 * count(*)", "count(distinct home.city) > 1", "amount + id * 2 > amount / id",
    ],
)  # fmt: skip
def test_columns_and_fields_within_them_are_asked(text: str) -> None:
    assert bound(read_expression(text), FIELDS).text == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("amont >= 0", "there is no column amont; did you mean amount"),
        ("home.town = ''", "no column home.town"),
        ("who.name = ''", "who is string, and has no field name"),
        ("ID > 0", "no column ID; did you mean id"),
        ("amount + 1", "not true or false"),
        ("who", "not true or false"),
        ("who > 1", "types do not fit"),
        ("at > 'yesterday'", "types do not fit"),
        ("who rlike '('", "types do not fit"),
        ("sum(who) > 1", "types do not fit"),
        ("count(*)", "not true or false"),
        (" * ".join(["amount"] * 8) + " > 1", "types do not fit"),
    ],
)
def test_a_check_of_nothing_that_is_there_names_it(text: str, why: str) -> None:
    with pytest.raises(SpecError, match=r"checks: c: .* can't be asked of rows of t") as refusal:
        bound_checks(spec(checks=[{"name": "c", "expect": text}]).checks, FIELDS, "t")
    assert why in refusal.value.what


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"checks": [{"name": "c", "expect": "a >"}]}, "not understood"),
        ({"checks": [{"name": "C", "expect": "a > 1"}]}, "pattern"),
        ({"checks": [{"name": "c", "expect": "a > 1"}] * 2}, "a name of two checks"),
        (
            {"checks": [{"name": "c", "expect": "max(a) > 1", "on_failure": "dead_letter"}]},
            "dead_letter needs a check of single rows",
        ),
        (
            {
                "checks": [{"name": "c", "expect": "a > 1", "on_failure": "dead_letter"}],
                "on_bad_record": "skip",
            },
            "needs on_bad_record: dead_letter",
        ),
        ({"checks": [{"name": "c", "expect": "a > 1"}], "mode": "tableflow"}, "a table that Frazil lands"),
        ({"where": "max(a) > 1"}, "takes no aggregate"),
        ({"where": "a >"}, "not understood"),
    ],
)
def test_a_spec_that_can_not_be_checked_is_refused(more: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        spec(**more)


@pytest.mark.parametrize(
    ("kind", "check", "why"),
    [
        (
            "rows",
            {"expect": "a > 1", "on_failure": "dead_letter"},
            "c: on_failure: dead_letter is for records",
        ),
        ("totals", {"expect": "max(a) > 1"}, "c: an aggregate needs kind: rows or full"),
        ("full", {"expect": "count(distinct a) > 1"}, "c: count.distinct .* is for landings"),
        ("full", {"expect": "max(a) > 1", "on_failure": "stop"}, ""),
        ("totals", {"expect": "a > 1", "on_failure": "stop"}, ""),
    ],
)
def test_a_derived_table_is_asked_what_the_rows_that_it_writes_can_tell(
    kind: str, check: dict[str, str], why: str
) -> None:
    made = {"table": "t", "sql": "t.sql", "kind": kind, "checks": [{"name": "c", **check}]}
    if not why:
        assert DerivedSpec.model_validate(made).checks
        return
    with pytest.raises(ValueError, match=why):
        DerivedSpec.model_validate(made)


def test_metadata_columns_that_the_table_has_are_asked_by_their_names() -> None:
    own = {"name": "c", "expect": '$$timestamp < now() and length("$$raw-value") < 100'}
    full = spec(checks=[own], metadata="full")

    refuse_unknown(full, FIELDS, "defs.yaml:1")
    with pytest.raises(SpecError, match=r"there is no column \$\$raw-value"):
        refuse_unknown(spec(checks=[own]), FIELDS, "defs.yaml:1")
    with pytest.raises(SpecError, match=r"no column \$\$ofset; did you mean \"\$\$offset\""):
        refuse_unknown(spec(checks=[{**own, "expect": "$$ofset > 1"}]), FIELDS, "defs.yaml:1")
    with pytest.raises(SpecError, match=r"there is no column \$\$offset") as refusal:
        refuse_unknown(
            spec(checks=[{**own, "expect": "$$offset > 1"}], metadata_names="portable"), FIELDS, "defs.yaml:1"
        )
    assert "cflt_metadata_offset" in refusal.value.where
    refuse_unknown(
        spec(checks=[{**own, "expect": "cflt_metadata_offset > 1"}], metadata_names="portable"), FIELDS, "d:1"
    )


def test_the_page_shows_checks_that_can_be_asked() -> None:
    blocks = map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
    (table,), (derived,) = blocks
    made = DerivedSpec.model_validate(derived)
    text, number = Primitive("string"), Primitive("long")
    names = {"id": number, "amount": number, "ts": Primitive("timestamptz")}
    fields = [
        Field(name, names.get(name, text)) for name in ("id", "amount", "currency", "iban", "ts", "email")
    ]

    assert len(bound_checks(TableSpec.model_validate(table).checks, fields, "orders")) == 5
    assert len(bound_checks(made.checks, [Field("size", text)], "sized_orders")) == 2
