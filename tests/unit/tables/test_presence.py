"""How many values columns hold: Arrow's own buffers and Parquet's statistics come to the same numbers."""

from __future__ import annotations

import random
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from frazil.tables.writing.presence import (
    Moves,
    ValueCounts,
    differing,
    moved_wrongly,
    values_in,
    values_in_files,
)

KIND = pa.struct(
    [
        ("n", pa.int64()),
        ("list", pa.list_(pa.struct([("x", pa.string()), ("y", pa.int32())]))),
        ("map", pa.map_(pa.string(), pa.list_(pa.int64()))),
    ]
)


def value(chance: random.Random) -> dict[str, Any] | None:
    if chance.random() < 0.2:
        return None
    return {
        "n": chance.choice([None, 1]),
        "list": chance.choice([None, [], [None, {"x": None, "y": 1}, {"x": "q", "y": 2}]]),
        "map": chance.choice([None, [], [("k", None), ("z", [1, None])]]),
    }


def by_hand(nested: Any) -> int:
    """The values of a row, as Python has it."""
    match nested:
        case None:
            return 0
        case dict():
            return sum(map(by_hand, nested.values()))
        case list() | tuple():
            return sum(map(by_hand, nested))
    return 1


@pytest.mark.parametrize("seed", range(50))
def test_arrow_and_parquet_count_the_same_values(seed: int) -> None:
    chance = random.Random(seed)
    whole = pa.array([value(chance) for _ in range(20)], KIND)
    for column in (whole, whole.slice(chance.randrange(5), chance.randrange(1, 14))):
        file = BytesIO()
        pq.write_table(pa.table({"column": column}), file)
        wanted = by_hand(column.to_pylist())

        assert values_in(column) == wanted
        assert values_in(pa.chunked_array([column, column])) == 2 * wanted
        assert values_in_files([pq.read_metadata(file)] * 2) == {"column": 2 * wanted}


def test_a_column_that_a_file_does_not_tell_of_is_not_compared() -> None:
    files = []
    for with_statistics in (True, False):
        files.append(BytesIO())
        pq.write_table(pa.table({"a": [1, None]}), files[-1], write_statistics=with_statistics)

    assert values_in_files(map(pq.read_metadata, files)) == {}
    assert differing({"a": 2}, {}) == ""
    assert differing({"a": 2, "b": 1}, {"a": 0, "b": 1}) == (
        "column a has 0 values in the files, and 2 were decoded"
    )


FROM_OLD = ValueCounts({"a": 5, "b": 5}, silent=frozenset({"b"}))


@pytest.mark.parametrize(
    ("a", "b", "fewer", "wrong"),
    [
        (5, 5, False, ""),
        (5, 9, False, ""),  # some files say nothing of b, so nobody knows how many there were
        (4, 5, False, "a has 4"),
        (6, 5, False, "a has 6"),
        (5, 4, False, "b has 4"),
        (4, 4, True, ""),
        (6, 9, True, "a has 6"),
    ],
)
def test_new_files_hold_the_values_of_old_ones_as_far_as_these_tell(
    a: int, b: int, fewer: bool, wrong: str
) -> None:
    moves = Moves(fewer=fewer)

    difference = moved_wrongly(FROM_OLD, ValueCounts({"a": a, "b": b}, frozenset()), moves)

    assert difference == (f"column {wrong} values in the new files, and 5 in the old ones" if wrong else "")
    assert moved_wrongly(FROM_OLD, ValueCounts({"a": a, "b": b}, frozenset("ab")), moves) == ""


@pytest.mark.parametrize(
    ("moves", "a", "wrong"),
    [
        (Moves(gone={"a": 2}), 3, ""),
        (Moves(gone={"a": 2}), 2, "a has 2 values in the new files, and 5 in the old ones, of which 2 went"),
        (Moves(gone={"a": 2}), 4, "a has 4"),
        (Moves(gone={"a": 2}, added={"a": 3}), 6, ""),
        (Moves(gone={"a": 2}, added={"a": 3}), 5, "a has 5"),
        (Moves(gone={"a": 2}, more=True), 9, ""),
        (Moves(gone={"a": 2}, more=True), 2, "a has 2"),
        (Moves(unknown=frozenset("a")), 0, ""),
    ],
)
def test_new_files_hold_the_values_of_old_ones_less_what_went_and_what_came(
    moves: Moves, a: int, wrong: str
) -> None:
    difference = moved_wrongly(FROM_OLD, ValueCounts({"a": a}, frozenset()), moves)

    assert (wrong in difference) if wrong else (difference == "")
