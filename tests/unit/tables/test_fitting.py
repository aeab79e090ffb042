"""Arrow values in a table's types, as Parquet takes them."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from frazil.tables.writing.conversion import ID, IN_FILES, NAME, UnmatchedError, fitted, rows_fitted


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
            pa.struct([("note", pa.string()), ("x", pa.int32())]),
            [{"note": "a", "x": 1}, None, {"x": 3}],
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


def called(name: str, in_files: str, field_id: int, kind: pa.DataType = pa.int64()) -> pa.Field:  # noqa: B008
    return pa.field(in_files, kind, metadata={NAME: name, ID: str(field_id)})


BRANCHES = pa.struct([called("a.b", "a_x2Eb", 2), called("c-d", "c_x2Dd", 3)])


def test_fields_that_files_call_otherwise_are_found_by_the_tables_names() -> None:
    rows = [{"a.b": 1, "c-d": None}, {"a.b": None, "c-d": 2}]
    values = pa.array(rows, pa.struct([("a.b", pa.int64()), ("c-d", pa.int64())]))

    fitted_rows = rows_fitted({"u.v": values}, pa.schema([called("u.v", "u_x2Ev", 1, BRANCHES)]), 2)

    assert fitted_rows.to_pylist() == [
        {"u_x2Ev": {"a_x2Eb": row["a.b"], "c_x2Dd": row["c-d"]}} for row in rows
    ]


@pytest.mark.parametrize("deep", [False, True], ids=["in a struct", "in a list and a map"])
def test_a_field_without_a_column_is_an_error_and_never_null(deep: bool) -> None:
    values = pa.array([{"a_x2Eb": 1}], pa.struct([("a_x2Eb", pa.int64())]))
    want = BRANCHES
    if deep:
        lists = pa.ListArray.from_arrays([0, 1], values)
        values = pa.MapArray.from_arrays([0, 1], pa.array(["k"]), lists)
        want = pa.map_(pa.string(), pa.list_(BRANCHES))

    with pytest.raises(UnmatchedError, match="no column for a_x2Eb"):
        fitted(values, want)


def test_columns_of_one_type_are_found_by_name_whatever_their_order() -> None:
    schema = pa.schema([("first", pa.string()), ("second", pa.string())])
    columns = {"second": pa.array(["b"]), "first": pa.array(["a"])}

    assert rows_fitted(columns, schema, 1).to_pylist() == [{"first": "a", "second": "b"}]


def test_a_required_column_without_values_is_an_error() -> None:
    with pytest.raises(UnmatchedError, match="no values for x, which is a required column"):
        fitted(pa.array([{"note": "a"}], pa.struct([("note", pa.string())])), POINT)
    with pytest.raises(UnmatchedError, match="no values for n"):
        rows_fitted({}, pa.schema([required("n", pa.int64())]), 1)


def test_rows_of_files_are_found_by_id_and_only_they_may_hold_what_was_dropped() -> None:
    old = pa.struct([called("was", "was", 2), called("dropped", "dropped", 9)])
    values = pa.array([{"was": 1, "dropped": 2}], old)

    assert fitted(values, BRANCHES, IN_FILES).to_pylist() == [{"a_x2Eb": 1, "c_x2Dd": None}]
    with pytest.raises(UnmatchedError, match="no name or id"):
        fitted(pa.array([{"was": 1}]), BRANCHES, IN_FILES)
