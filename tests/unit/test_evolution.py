"""Verdicts on schema changes, by the rules of docs/evolution.md."""

from __future__ import annotations

import pytest

from frazil.schemas.evolution import verdicts
from frazil.schemas.logical import Decimal, Field, Primitive, Struct

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
