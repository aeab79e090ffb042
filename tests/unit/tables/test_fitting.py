"""Arrow values in a table's types, as Parquet takes them."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from frazil.tables.conversion import fitted


def required(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


POINT = pa.struct([required("x", pa.int64()), pa.field("note", pa.string())])


def through_parquet(values: pa.Array) -> list[Any]:
    file = BytesIO()
    pq.write_table(pa.table([values], names=["column"]), file)
    return list(pq.read_table(file)["column"].to_pylist())


@pytest.mark.parametrize(
    ("have", "rows", "want", "expected"),
    [
        (pa.int32(), [1, None], pa.int64(), [1, None]),
        (pa.float32(), [1.5, None], pa.float64(), [1.5, None]),
        (
            pa.struct([("note", pa.string()), ("x", pa.int32()), ("old", pa.int8())]),
            [{"note": "a", "x": 1, "old": 2}, None, {"x": 3}],
            POINT,
            [{"x": 1, "note": "a"}, None, {"x": 3, "note": None}],
        ),
        (pa.struct([("x", pa.int64())]), [{"x": 1}], POINT, [{"x": 1, "note": None}]),
        (
            pa.list_(pa.struct([("x", pa.int32())])),
            [[{"x": 1}], None, [], [{"x": 2}, {"x": 3}]],
            pa.list_(required("element", POINT)),
            [[{"x": 1, "note": None}], None, [], [{"x": 2, "note": None}, {"x": 3, "note": None}]],
        ),
        (
            pa.map_(pa.string(), pa.list_(pa.int32())),
            [[("a", [1]), ("b", None)], None, []],
            pa.map_(pa.string(), pa.list_(pa.int64())),
            [[("a", [1]), ("b", None)], None, []],
        ),
        (
            pa.struct([("deep", pa.struct([("x", pa.int32())])), ("tags", pa.list_(pa.string()))]),
            [None, {"deep": {"x": 1}, "tags": ["t"]}, None],
            pa.struct([required("deep", POINT), required("tags", pa.list_(pa.string()))]),
            [None, {"deep": {"x": 1, "note": None}, "tags": ["t"]}, None],
        ),
    ],
)
def test_values_become_a_tables_by_name_at_every_depth(
    have: pa.DataType, rows: list[Any], want: pa.DataType, expected: list[Any]
) -> None:
    values = pa.array(rows, have)
    assert through_parquet(fitted(values, want)) == expected
    padded = pa.concat_arrays([values, values, values]).slice(len(values), len(values))
    assert through_parquet(fitted(padded, want)) == expected


@pytest.mark.parametrize(
    ("values", "want"),
    [
        (pa.array([{"x": None}], pa.struct([("x", pa.int64())])), POINT),
        (pa.array([[None]], pa.list_(pa.int64())), pa.list_(required("element", pa.int64()))),
    ],
)
def test_a_null_in_a_required_field_is_no_row(values: pa.Array, want: pa.DataType) -> None:
    with pytest.raises(ValueError, match="null"):
        fitted(values, want)
