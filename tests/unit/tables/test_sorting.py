"""Rows in order as Spark has them: texts by their bytes, nulls where the spec says."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import DecimalType, DoubleType, LongType, NestedField, StringType, StructType, UUIDType

from frazil.spec.topic import TableSpec
from frazil.tables.writing import sorting
from frazil.tables.writing.sorting import SortKey, in_order, sort_keys

SCHEMA = Schema(
    NestedField(1, "a.b", StringType()),
    NestedField(2, "n", LongType()),
    NestedField(3, "d", DecimalType(9, 2)),
    NestedField(4, "score", DoubleType()),
    NestedField(5, "part", StructType(NestedField(6, "n", LongType()))),
    NestedField(7, "id", UUIDType()),
)

VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "boolean": (pa.bool_(), [True, False, None]),
    "int": (pa.int32(), [0, -1, 2**31 - 1, -(2**31), None]),
    "decimal": (pa.decimal128(10, 2), [Decimal("-1.50"), Decimal("1.50"), Decimal("0.00"), None]),
    "timestamptz": (
        pa.timestamp("us", "UTC"),
        [datetime(y, 1, 1, tzinfo=UTC) for y in (1969, 2026)] + [None],
    ),
    "string": (pa.string(), ["", "a", "Z", "é", "e\u0301", "\uffff", "\U0001f9ca", "a ", None]),
    "binary": (pa.binary(), [b"", b"\0", b"\x7f", b"\x80", b"\xff\0", None]),
}


def rows(kind: str, count: int, chance: random.Random) -> pa.Table:
    of, values = VALUES[kind]
    columns = {"x_": pa.array(chance.choices(values, k=count), of), "n": pa.array(range(count), pa.int64())}
    named = pa.field("x_", of, metadata={"frazil.name": "x.y"})
    return pa.table(columns, pa.schema([named, pa.field("n", pa.int64())]))


def spoken(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("ascending", [True, False])
@pytest.mark.parametrize("nulls_first", [True, False])
def test_rows_are_sorted_and_those_that_are_alike_stay_as_they_come(
    kind: str, ascending: bool, nulls_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorting, "_AT_ONCE", 256)
    chance = random.Random(7)
    parts = [rows(kind, count, chance) for count in (40, 0, 3)]

    tables = [*in_order(iter(parts), [SortKey("x.y", ascending, nulls_first)])]

    given = [(row["x_"], row["n"]) for part in parts for row in part.to_pylist()]
    known = [row for row in given if row[0] is not None]
    nulls = [row for row in given if row[0] is None]
    known = sorted(known, key=lambda row: spoken(row[0]), reverse=False) if ascending else _down(known)
    assert len(tables) > 1
    rows_read = [(row["x_"], row["n"]) for part in tables for row in part.to_pylist()]
    assert rows_read == (nulls + known if nulls_first else known + nulls)
    assert tables[0].schema.field("x_").metadata == {b"frazil.name": b"x.y"}


def _down(known: list[tuple[Any, int]]) -> list[tuple[Any, int]]:
    different = sorted({spoken(value) for value, _ in known}, reverse=True)
    return [row for value in different for row in known if spoken(row[0]) == value]


def test_the_first_column_counts_most() -> None:
    table = pa.table({"a": ["y", "x", "x", "y"], "b": [1, 1, 2, 2]})
    keys = [SortKey("a", ascending=True, nulls_first=True), SortKey("b", ascending=False, nulls_first=False)]

    (table_sorted,) = in_order([table], keys)

    assert table_sorted.to_pydict() == {"a": ["x", "x", "y", "y"], "b": [2, 1, 2, 1]}


def test_more_rows_than_a_task_can_hold_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "_MOST", 100)

    with pytest.raises(ValueError, match="to be sorted at once"):
        list(in_order([pa.table({"n": range(7)})] * 2, [SortKey("n", ascending=True, nulls_first=True)]))


@pytest.mark.parametrize(
    ("sort_by", "keys"),
    [
        ((), ()),
        (("n desc", "d"), (SortKey("n", False, False), SortKey("d", True, True))),
        (("n asc nulls last",), (SortKey("n", True, False),)),
        (("zorder(n, d)",), None),
        (("score",), None),  # where is NaN?
        (("part.n",), None),
        (("n", "id"), None),
    ],
)
def test_some_orders_are_sparks(sort_by: tuple[str, ...], keys: Any) -> None:
    spec = TableSpec(topic="t", sort_by=sort_by)

    assert sort_keys(SCHEMA, spec.sort_terms) == keys
