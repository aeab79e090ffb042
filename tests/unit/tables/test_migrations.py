"""Approved migrations: when they are due, when they wait, and when they do not fit."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from frazil.errors import ConfigureError
from frazil.formats.evolution import refused, standing, verdicts
from frazil.formats.logical import Decimal, Field, List, Map, Primitive, Struct, find
from frazil.spec.migrations import Drop, Migration, Rename, Retype
from frazil.spec.topic import TableSpec
from frazil.tables.migrations import MIGRATIONS, needless

INT, LONG, STRING = Primitive("int"), Primitive("long"), Primitive("string")


def struct(**fields: Primitive | Struct | List | Decimal) -> Struct:
    return Struct(tuple(Field(name, kind, optional=True) for name, kind in fields.items()))


RENAME = Migration(id="r", rename=Rename(from_="a", to="b"))
DROP = Migration(id="d", drop=Drop(column="a"))
RETYPE = Migration(id="t", retype=Retype(column="a", to="string"))


@pytest.mark.parametrize(
    ("migration", "table", "wanted", "expected"),
    [
        (RENAME, struct(a=INT), struct(b=INT), "due"),
        (RENAME, struct(a=INT), struct(a=INT), "waits"),
        (RENAME, struct(a=INT), struct(a=INT, b=INT), "waits"),
        (RENAME, struct(b=INT), struct(b=INT), "settled"),
        (DROP, struct(a=INT, c=INT), struct(c=INT), "due"),
        (DROP, struct(a=INT), struct(a=INT), "waits"),
        (DROP, struct(c=INT), struct(a=INT), "waits"),
        (RETYPE, struct(a=INT), struct(a=STRING), "due"),
        (RETYPE, struct(a=INT), struct(a=LONG), "waits"),
        (RETYPE, struct(a=INT), struct(c=INT), "waits"),
        (RETYPE, struct(a=STRING), struct(a=STRING), "settled"),
    ],
)
def test_a_migration_is_applied_when_the_schema_asks_for_it(
    migration: Migration, table: Struct, wanted: Struct, expected: str
) -> None:
    assert standing(migration, table, wanted) == expected


@pytest.mark.parametrize(
    ("migration", "table", "wanted", "expected"),
    [
        (RENAME, struct(c=INT), struct(c=INT), "neither the table nor the newest schema has a"),
        (RENAME, struct(a=INT), struct(c=INT), "the newest schema has neither a nor b"),
        (RENAME, struct(a=INT, b=INT), struct(b=INT), "the table has a and b"),
        (DROP, struct(c=INT), struct(c=INT), "neither the table nor the newest schema has a"),
        (RETYPE, struct(a=INT), struct(a=Decimal(9, 2)), r"has a as decimal\(9,2\)"),
        (RETYPE, struct(c=INT), struct(c=INT), "neither the table nor the newest schema has a"),
    ],
)
def test_a_migration_that_does_not_fit_is_a_clear_error(
    migration: Migration, table: Struct, wanted: Struct, expected: str
) -> None:
    with pytest.raises(ConfigureError, match=expected) as raised:
        standing(migration, table, wanted)

    assert "defs.yaml" in str(raised.value)
    assert f"migrations: {migration}" in str(raised.value)


@pytest.mark.parametrize(
    ("wrong", "table", "wanted", "mended"),
    [
        (Rename(from_="x", to="b"), struct(a=INT), struct(b=INT), Rename(from_="a", to="b")),
        (Rename(from_="a", to="c"), struct(a=INT), struct(b=INT), Rename(from_="a", to="b")),
    ],
)
def test_a_migration_that_is_mended_as_told_keeps_the_columns_rows_and_without_it_none_is_in_the_way(
    wrong: Rename, table: Struct, wanted: Struct, mended: Rename
) -> None:
    with pytest.raises(ConfigureError) as raised:
        standing(Migration(id="r", rename=wrong), table, wanted)

    assert raised.value.todo == "Fix it in defs.yaml, or take it out."
    assert standing(Migration(id="r", rename=mended), table, wanted) == "due"
    (stopping,) = refused(verdicts(table, wanted, ()))  # without it nothing is lost: the table asks
    assert "rename: {from: a, to: b}" in stopping.todo


def test_names_may_come_in_a_chain() -> None:
    second = Migration(id="s", rename=Rename(from_="b", to="c"))

    assert standing(RENAME, struct(a=INT), struct(c=INT), later={"b"}) == "due"
    assert standing(second, struct(a=INT), struct(a=INT), coming={"b"}) == "waits"


def test_columns_within_structs_lists_and_maps_are_found_by_path() -> None:
    inner = Struct((Field("x", INT),))
    table = Struct((Field("s", inner), Field("l", List(inner)), Field("m", Map(STRING, inner))))
    nested = Migration(id="n", rename=Rename(from_="l.element.x", to="y"))
    wanted = Struct((table.fields[0], Field("l", List(struct(y=INT))), table.fields[2]))

    assert all(find(table, path) for path in ("s.x", "l.element.x", "m.value.x"))
    assert [find(table, path) for path in ("s.y", "l.x", "m.key.x", "s.x.z")] == [None] * 4
    assert standing(nested, table, wanted) == "due"


def test_a_new_table_remembers_what_it_never_needs() -> None:
    second = Migration(id="s", rename=Rename(from_="b", to="c"))

    old = needless([RENAME, second], struct(a=INT))
    new = needless([RENAME, second], struct(c=INT))

    assert old == {}
    assert list(json.loads(new[MIGRATIONS])) == ["r", "s"]


def test_a_spec_names_migrations_as_people_write_them() -> None:
    spec = TableSpec.model_validate(
        {"topic": "t", "migrations": [{"id": "x", "rename": {"from": "a", "to": "b"}}]}
    )

    assert str(spec.migrations[0]) == "rename a to b"


@pytest.mark.parametrize(
    ("migrations", "expected"),
    [
        ([{"id": "x"}], "write one of rename, drop, retype, mask and path"),
        ([{"id": "x", "drop": {"column": "a"}, "retype": {"column": "a", "to": "int"}}], "write one of"),
        ([{"id": "x", "retype": {"column": "a", "to": "varchar"}}], "is no type"),
        ([{"id": "x", "drop": {"column": c}} for c in "ab"], "an id of two migrations"),
        ([{"drop": {"column": "a"}}], "Field required"),
    ],
)
def test_migrations_that_can_not_be_meant_are_refused(migrations: list[object], expected: str) -> None:
    with pytest.raises(ValidationError, match=expected):
        TableSpec.model_validate({"topic": "t", "migrations": migrations})
