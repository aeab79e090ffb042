"""Rows that are deleted and stay, by columns: what is left of drawn changes is what a dictionary says."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from frazil.landing.upsert.lane.rules import older_rows
from frazil.landing.upsert.truncates.truncate import Truncate
from frazil.landing.upsert.words import DELETED, LSN, TOMBSTONE
from kit.records.soft_changes import drawn, expected, rows_by_key, soft, table


@pytest.mark.parametrize("lsn", ["", "lsn"])
@pytest.mark.parametrize("seed", range(40))
def test_the_newest_change_has_the_last_values_of_its_row(lsn: str, seed: int) -> None:
    changes = drawn(random.Random(seed), 60)

    assert rows_by_key(soft(lsn).newest(table(changes))) == expected(changes, bool(lsn))


@pytest.mark.parametrize("lsn", ["", "lsn"])
@pytest.mark.parametrize("seed", range(40))
def test_fewer_changes_tell_the_same_however_they_are_cut(lsn: str, seed: int) -> None:
    chance = random.Random(seed)
    changes, by = drawn(chance, 60), soft(lsn)
    cuts = sorted(chance.sample(range(60), 3))
    slices = [changes[a:b] for a, b in zip([0, *cuts], [*cuts, 60], strict=True)]
    chance.shuffle(slices)

    fewer = pa.concat_tables([by.needed(table(each)) for each in slices])

    assert rows_by_key(by.newest(fewer)) == expected(changes, bool(lsn))
    if not lsn:
        assert len(by.needed(table(changes))) < len(changes)


def test_a_delete_says_when_and_where_and_the_rest_of_its_row_is_as_it_was() -> None:
    changes = [
        {"key": "a", "partition": 0, "offset": 1, "at": 5, "lsn": 50, "value": 7},
        {"key": "a", "partition": 0, "offset": 2, "at": 6, "lsn": 60, "value": ...},
    ]

    (row,) = soft("lsn").newest(table(changes)).to_pylist()

    assert (row["value"], row["op"], row["deleted"], row["offset"], row["lsn"]) == (7, "d", True, 2, 50)
    assert (row[DELETED], row[LSN]) == (False, 50)


def test_a_bare_delete_marks_the_row_of_the_table_which_keeps_its_place_in_the_log() -> None:
    put = {"key": "a", "partition": 0, "offset": 1, "at": 5, "lsn": 50, "value": 7}
    rows = table([put]).drop_columns([DELETED, TOMBSTONE])
    changes = soft().newest(table([{**put, "offset": 9, "value": ...}]))

    (row,) = soft().marked(rows, changes).to_pylist()

    assert (row["value"], row["op"], row["deleted"], row["offset"], row["lsn"]) == (7, "d", True, 9, 50)


TRUNCATE = Truncate(1, 5, 7_000_000, None, 100)


@pytest.mark.parametrize("landed", [False, True])
@pytest.mark.parametrize(
    ("lsn", "row", "older"),
    [
        ("", (1, 4, 9, None), True),  # partition, offset, seconds, LSN
        ("", (1, 6, 1, None), False),
        ("", (0, 99, 6, None), True),
        ("", (0, 1, 8, None), False),
        ("", (0, 1, 7, None), False),
        ("", (2, 1, 7, 1), False),
        ("", (None, None, 6, None), True),
        ("", (None, None, None, None), False),
        ("lsn", (2, 9, 9, 99), True),
        ("lsn", (1, 4, 1, 101), False),
        ("lsn", (1, 4, 9, None), True),
    ],
)
def test_a_row_is_older_than_a_truncate_by_offset_or_by_time_or_by_the_sources_log(
    lsn: str, row: tuple[int | None, ...], older: bool, landed: bool
) -> None:
    partition, offset, seconds, log = row
    at = None if seconds is None else seconds * 1_000_000
    change = {"key": "a", "partition": partition, "offset": offset, "at": at, "lsn": log, "value": 1}
    of_its_partition = landed and partition == 1 and (not lsn or log is None)  # then the row was there before

    older_flags, times = older_rows([TRUNCATE], table([change]), soft(lsn).identity, landed=landed)

    assert older_flags.tolist() == [older or of_its_partition]
    assert times.tolist() == [7_000_000 if older or of_its_partition else 0]


def test_of_two_truncates_the_first_one_says_when() -> None:
    change = {"key": "a", "partition": 0, "offset": 1, "at": 1, "lsn": 1, "value": 1}
    truncates = [Truncate(0, 5, 50, 40, None), Truncate(1, 9, 90, 80, None)]

    older, times = older_rows(truncates, table([change]), soft().identity)
    (row,) = soft().emptied(table([change]), older, times).to_pylist()

    assert (row["op"], row["deleted"], row["deleted_at"].microsecond, row["value"]) == ("t", True, 40, 1)


def test_nothing_is_the_newest_of_nothing() -> None:
    for lsn in ("", "lsn"):
        assert len(soft(lsn).newest(table([]))) == len(soft(lsn).needed(table([]))) == 0
        assert len(soft(lsn).emptied(table([]), *older_rows([TRUNCATE], table([]), soft().identity))) == 0
