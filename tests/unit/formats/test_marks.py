"""Debezium's marks by columns: what is one, at every depth, and what only looks like it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from frazil.formats.debezium.marks import are_infinite, are_unavailable
from frazil.formats.logical import Field, List, Map, Primitive, Struct, Type

MARK = "__debezium_unavailable_value"
UUID = "b68a35a7-17ad-35b3-af2a-ae46edb4545a"
NUMBERS = [95, 95, *b"debezium_unavailable_value"]
TEXT, BYTES, INT, LONG, DATE = (Primitive(w) for w in ("string", "binary", "int", "long", "date"))  # type: ignore[arg-type]
NAIVE, ZONED = Primitive("timestamp"), Primitive("timestamptz")
MICROS = pa.timestamp("us")
ROW = Struct((Field("id", INT), Field("note", TEXT, True)))
ARROW_ROW = pa.struct([("id", pa.int32()), ("note", pa.string())])
INFINITE = [-9223372036832400000, 9223372036825200000]


def flags(find: Any, kind: Type, values: pa.Array) -> list[bool]:
    """By the array as it is, and by a part of a longer one."""
    whole = pa.concat_arrays([values, values]).slice(len(values) - 1, len(values))
    hits = find(kind, values).tolist()
    assert find(kind, whole).tolist() == [hits[-1], *hits[:-1]]
    return [bool(hit) for hit in hits]


@pytest.mark.parametrize(
    ("kind", "arrow", "marks", "values"),
    [
        (TEXT, pa.string(), [MARK], [None, "", MARK + " ", MARK[:-1], UUID]),
        (BYTES, pa.binary(), [MARK.encode()], [None, b"", b"x" + MARK.encode()]),
        (
            List(TEXT), pa.list_(pa.string()), [[MARK], [UUID]],
            [None, [], [None], ["x"], [MARK, MARK], [MARK, None], ["x", MARK]],
        ),
        (List(BYTES), pa.list_(pa.binary()), [[MARK.encode()]], [None, [b""], [MARK.encode()] * 2]),
        (
            List(INT), pa.list_(pa.int32()), [NUMBERS],
            [None, [], NUMBERS[:-1], [*NUMBERS, 1], [*NUMBERS[:-1], None], NUMBERS[::-1]],
        ),
        (
            List(LONG), pa.list_(pa.int64()), [NUMBERS, [n * 1000 for n in NUMBERS]],
            [None, [NUMBERS[0] * 1000, *NUMBERS[1:]]],
        ),
        (List(DATE), pa.list_(pa.date32()), [NUMBERS], [None, [n * 1000 for n in NUMBERS]]),
        (
            List(NAIVE), pa.list_(MICROS), [NUMBERS, [n * 1000 for n in NUMBERS]],
            [[n * 10**6 for n in NUMBERS]],
        ),
        (
            Map(TEXT, TEXT), pa.map_(pa.string(), pa.string()), [[(MARK, MARK)]],
            [None, [], [(MARK, None)], [(MARK, "x")], [("x", MARK)], [(MARK, MARK), ("x", "y")]],
        ),
        (ROW, ARROW_ROW, [{"id": 1, "note": MARK}], [None, {"id": 1, "note": None}, {"id": 1, "note": "x"}]),
        (
            List(ROW), pa.list_(ARROW_ROW), [[{"id": 1, "note": "x"}, {"id": 2, "note": MARK}]],
            [None, [], [None], [{"id": 1, "note": "x"}]],
        ),
        (
            Map(TEXT, List(TEXT)), pa.map_(pa.string(), pa.list_(pa.string())),
            [[("a", ["x"]), ("b", [MARK])]],
            [None, [(MARK, ["x"])], [("a", None)], [("a", [MARK, MARK])]],
        ),
        (
            List(List(TEXT)), pa.list_(pa.list_(pa.string())), [[["x"], [MARK]], [[UUID], []]],
            [None, [], [None], [["x", MARK]]],
        ),
    ],
    ids=str,
)  # fmt: skip
def test_a_value_that_debezium_lacks_is_told_from_others(
    kind: Type, arrow: pa.DataType, marks: list[Any], values: list[Any]
) -> None:
    array = pa.array([*values, *marks, *values], arrow)

    none = [False] * len(values)
    assert flags(are_unavailable, kind, array) == [*none, *(True for _ in marks), *none]


@pytest.mark.parametrize(
    ("kind", "arrow", "marks", "values"),
    [
        (DATE, pa.date32(), [-2440589, 2145042906, -(2**31)], [None, 0, -2440588, 2145042905]),
        (NAIVE, MICROS, INFINITE, [None, 0, INFINITE[0] + 1, INFINITE[1] - 1]),
        (ZONED, pa.timestamp("us", "UTC"), [*INFINITE, -(2**63)], [None, 0, INFINITE[0] + 1]),
        (List(DATE), pa.list_(pa.date32()), [[0, None, 2**31 - 1]], [None, [], [None], [0, 1]]),
        (List(NAIVE), pa.list_(MICROS), [[INFINITE[0]], [0, INFINITE[1]]], [None, [0]]),
    ],
    ids=str,
)
def test_infinity_is_told_from_moments(
    kind: Type, arrow: pa.DataType, marks: list[Any], values: list[Any]
) -> None:
    array = pa.array([*values, *marks, *values], arrow)

    none = [False] * len(values)
    assert flags(are_infinite, kind, array) == [*none, *(True for _ in marks), *none]


@pytest.mark.parametrize(
    "kind", [INT, LONG, Primitive("double"), List(Primitive("double")), ROW.fields[0].type]
)
def test_values_that_can_be_no_marks_are_not_looked_at(kind: Type) -> None:
    nothing = pa.array([None], pa.list_(pa.float64()))

    assert are_infinite(kind, nothing) is None
    assert are_unavailable(kind, nothing) is None
