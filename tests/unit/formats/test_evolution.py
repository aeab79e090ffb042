"""Verdicts on schema changes, by the rules of docs/evolution.md."""

from __future__ import annotations

import re

import pytest
import sqlglot
import yaml

from frazil.errors import printable
from frazil.formats.columns.columns import record_columns
from frazil.formats.evolution import refused, verdicts
from frazil.formats.logical import Decimal, Field, Fixed, List, Map, Primitive, Struct, Type
from frazil.formats.types import as_stored
from frazil.landing.write import laid_out
from frazil.spec.migrations import Drop, Rename, Retype, dropping
from frazil.spec.topic import TableSpec

INT, LONG, STRING = Primitive("int"), Primitive("long"), Primitive("string")
TABLE = Struct(
    (Field("key", Primitive("binary"), optional=True), Field("a", INT), Field("b", STRING, optional=True))
)


def changes(*wanted: Field) -> list[tuple[str, str, bool]]:
    return [(v.field, v.change, v.allowed) for v in verdicts(TABLE, wanted, own=["key"])]


A, B = TABLE.fields[1:]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ((A, B), []),
        ((B, A), [("", "reorder", True)]),
        ((A, B, Field("c", INT, optional=True)), [("c", "add", True)]),
        ((A, B, Field("c", INT)), [("c", "add", False)]),
        ((Field("a", LONG), B), [("a", "widen", True)]),
        ((Field("a", INT, optional=True), B), [("a", "relax", True)]),
        ((Field("a", STRING), B), [("a", "retype", False)]),
        ((A,), [("b", "drop", False)]),
        ((A, Field("b2", STRING, optional=True)), [("b2", "add", True), ("b", "drop", False)]),
    ],
)
def test_each_change_has_its_verdict(
    wanted: tuple[Field, ...], expected: list[tuple[str, str, bool]]
) -> None:
    assert changes(*wanted) == expected


def test_decimals_widen_in_precision_but_not_in_scale() -> None:
    table = Struct((Field("d", Decimal(9, 2)),))

    assert [v.allowed for v in verdicts(table, [Field("d", Decimal(12, 2))], [])] == [True]
    assert [v.allowed for v in verdicts(table, [Field("d", Decimal(12, 4))], [])] == [False]


def within(**fields: Type) -> Struct:
    """A table of one column of each kind of nesting, all with the same struct inside."""
    inner = Struct(tuple(Field(name, kind, optional=True) for name, kind in fields.items()))
    return Struct(
        (
            Field("s", inner),
            Field("l", List(inner)),
            Field("m", Map(STRING, inner)),
            Field("d", Map(STRING, INT)),
        )
    )


def judged(table: Struct, wanted: Struct) -> dict[str, tuple[str, str]]:
    return {v.field: (v.change, v.outcome) for v in verdicts(table, wanted, [])}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (within(a=INT, b=INT), ("b", "add", "applied")),
        (within(b=INT, a=INT), ("b", "add", "applied")),
        (within(a=LONG), ("a", "widen", "applied")),
        (within(a=STRING), ("a", "retype", "refused")),
    ],
)
def test_rules_hold_at_every_depth(wanted: Struct, expected: tuple[str, str, str]) -> None:
    name, change, outcome = expected

    assert judged(within(a=INT), wanted) == {
        f"{path}.{name}": (change, outcome) for path in ("s", "l[]", "m{}")
    }


def one(kind: Type, **more: bool) -> Struct:
    return Struct((Field("a", kind, **more),))


@pytest.mark.parametrize(
    ("have", "wanted", "field", "change", "outcome"),
    [
        (Map(INT, STRING), Map(LONG, STRING), "a{key}", "retype", "refused"),
        (Map(INT, STRING), Map(INT, STRING, value_optional=True), "a{}", "relax", "applied"),
        (List(INT), List(INT, element_optional=True), "a[]", "relax", "applied"),
        (List(INT), Map(STRING, INT), "a", "retype", "refused"),
        (Struct((Field("x", INT),)), INT, "a", "retype", "refused"),
        (INT, Struct((Field("x", INT),)), "a", "retype", "refused"),
        (Primitive("date"), Primitive("timestamp"), "a", "retype", "refused"),
        (Fixed(4), Fixed(8), "a", "retype", "refused"),
        (LONG, INT, "a", "widen", "no change"),
        (LONG, Primitive("double"), "a", "retype", "refused"),
    ],
)
def test_types_change_by_the_rules(have: Type, wanted: Type, field: str, change: str, outcome: str) -> None:
    assert judged(one(have), one(wanted)) == {field: (change, outcome)}


def test_what_became_required_stays_optional() -> None:
    assert judged(one(INT, optional=True), one(INT)) == {"a": ("tighten", "no change")}


@pytest.mark.parametrize(
    ("added", "outcome"),
    [
        (Field("b", INT, optional=True), "applied"),
        (Field("b", INT), "refused"),
        (Field("b", INT, defaulted=True), "applied"),
        (Field("b", INT, optional=True, demanded=True), "refused"),
        (Field("b", INT, optional=True, demanded=True, defaulted=True), "applied"),
    ],
)
def test_a_new_field_must_be_optional_or_read_as_empty(added: Field, outcome: str) -> None:
    assert judged(one(INT), Struct((*one(INT), added))) == {"b": ("add", outcome)}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ((Field("b", INT, True),), Rename(from_="a", to="b")),
        ((Field("b", STRING, True),), Drop(column="a")),
        ((Field("a", STRING),), Retype(column="a", to="string")),
        ((Field("a", Decimal(9, 2)),), Retype(column="a", to="decimal(9,2)")),
    ],
)
def test_what_to_do_is_a_migration_that_can_be_pasted(
    wanted: tuple[Field, ...], expected: Rename | Drop | Retype
) -> None:
    (verdict,) = refused(verdicts(one(INT), wanted, []))
    last = re.findall("`(- .+?)`", verdict.todo)[-1]

    (migration,) = TableSpec.model_validate({"topic": "t", "migrations": yaml.safe_load(last)}).migrations

    assert expected in (migration.rename, migration.drop, migration.retype)
    assert ("are null in the new column" in verdict.todo) == isinstance(expected, Retype)


ODD_NAMES = [
    "@timestamp", "a b", "a,b", "a: b", "on", "NULL", "1", "{x} y", "価格", "a#b", "'x", '"x"', "*x", "&x",
    "!x", "%x", "- x", "`q`", "\u202egnp", "x" * 80, "a\tb",
]  # fmt: skip


@pytest.mark.parametrize("name", ODD_NAMES)
@pytest.mark.parametrize("wanted", [(), (Field("new", INT),), (Field("{}", STRING),)])
def test_what_to_do_about_a_field_of_any_name_can_be_pasted(name: str, wanted: tuple[Field, ...]) -> None:
    asked = tuple(Field(f.name.replace("{}", name), f.type) for f in wanted)
    todo = " ".join(v.todo for v in refused(verdicts(Struct((Field(name, INT),)), asked, [])))
    lines = re.findall(r"`(- \{.+?\}\})`", todo)

    spec = TableSpec.model_validate({"topic": "t", "migrations": [yaml.safe_load(line)[0] for line in lines]})

    assert lines
    assert {migration.column for migration in spec.migrations} == {name}


@pytest.mark.parametrize("name", [*(n for n in ODD_NAMES if n.isprintable()), "a.b", "a-b", "🧊", "``"])
@pytest.mark.parametrize("path", ["{}", "s.{}", "{}.element.x"])
def test_a_column_of_any_name_that_another_engine_added_is_dropped_by_the_statement(
    name: str, path: str
) -> None:
    x = Struct((Field("x", INT, True), Field("y", INT, True)))
    have, wanted = {
        "{}": ((Field("a", INT), Field(name, INT)), (Field("a", INT),)),
        "s.{}": (
            (Field("s", Struct((Field("a", INT, True), Field(name, INT, True)))),),
            (Field("s", Struct((Field("a", INT, True),))),),
        ),
        "{}.element.x": ((Field(name, List(x)),), (Field(name, List(Struct(x.fields[1:]))),)),
    }[path]
    (verdict,) = refused(verdicts(Struct(have), wanted, []))

    dropped = verdict.todo.partition("ALTER TABLE ... DROP COLUMN ")[2].removesuffix(".")
    (column,) = sqlglot.parse_one(f"SELECT {dropped}", dialect="spark").selects

    assert [part.name for part in column.parts] == [p.replace("{}", name) for p in path.split(".")]


@pytest.mark.parametrize("name", [*ODD_NAMES, "a.b", "a-b", "🧊", "``"])
@pytest.mark.parametrize("demanded", [False, True])
def test_a_field_of_any_name_that_is_newly_required_is_optional_by_the_line_that_is_advised(
    name: str, demanded: bool
) -> None:
    """What the terminal must not obey is shown as YAML reads it, too."""
    value = Struct((Field("a", INT), Field(name, INT, optional=demanded, demanded=demanded)))
    table = Struct((Field("a", INT),))
    (verdict,) = refused(verdicts(table, value.fields, []))

    line = re.findall(r"`(columns: \{.*\})` in defs.yaml", printable(verdict.todo))[0]
    spec = TableSpec.model_validate({"topic": "t", **yaml.safe_load(line)})
    advised = record_columns(spec, Struct(()), value).fields

    assert [(v.field, v.outcome) for v in verdicts(table, advised, [])] == [(verdict.field, "applied")]


def test_no_line_of_a_spec_is_advised_for_a_field_within_a_column() -> None:
    have, wanted = (Struct((Field("s", Struct(f)),)) for f in ((A,), (A, Field("c", INT))))

    (verdict,) = refused(verdicts(have, wanted, []))

    assert verdict.todo == "Make s.c optional in the schema."


def test_two_names_that_no_id_can_have_get_two_ids() -> None:
    ids = {yaml.safe_load(dropping(name))[0]["id"] for name in [*ODD_NAMES, "a_b", "a;b", "x" * 81]}

    assert len(ids) == len(ODD_NAMES) + 3


def test_no_retype_is_proposed_to_a_type_that_none_can_name() -> None:
    (verdict,) = refused(verdicts(Struct((Field("a", INT),)), (Field("a", Primitive("time")),), []))

    assert "retype" not in verdict.todo


def test_types_and_defaults_survive_being_stored() -> None:
    fields = (Field("f", Fixed(4), defaulted=True), Field("l", List(Fixed(4))))

    assert as_stored(fields) == (Field("f", Primitive("binary")), Field("l", List(Primitive("binary"))))
    assert as_stored(fields)[0].defaulted


def test_values_are_laid_out_by_name_and_never_by_position() -> None:
    have, want = Struct((Field("b", INT), Field("a", INT))), Struct((Field("a", INT), Field("c", STRING)))

    made = laid_out("v", List(have), List(want))

    assert made == (
        "transform(v, x0 -> CASE WHEN x0 IS NOT NULL THEN "
        "named_struct('a', CAST(x0.`a` AS int), 'c', CAST(NULL AS string)) END)"
    )
    assert laid_out("v", have, have) == "CAST(v AS struct<`b`:int,`a`:int>)"
