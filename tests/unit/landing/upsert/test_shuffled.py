"""Rows that Spark shuffled by key: what tasks say of them is what a dictionary, or a person, says."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import pyarrow as pa
import pytest

from frazil.landing.upsert import shuffled
from frazil.landing.upsert.lane.rules import Rules
from frazil.landing.upsert.shuffled import Empty, Judge, Mark, Newest
from frazil.landing.upsert.truncates.truncate import Truncate
from frazil.landing.upsert.words import (
    BARE,
    DELETED,
    ENDS,
    LSN,
    MET,
    OFFSET,
    PARTITION,
    TIMESTAMP,
    TOMBSTONE,
    WINS,
)
from kit.records.soft_changes import MICROS, drawn, expected, rows_by_key, soft, table

PLACES = {"partition": PARTITION, "offset": OFFSET, "at": TIMESTAMP, "lsn": LSN}
ROW = {"key": "a", "value": 7, "op": "u", "deleted_at": None}
TRUNCATE = Truncate(1, 5, 7_000_000, None, None)
HERE = version("frazil")


Place = tuple[int, int, int, int | None]
"""Partition, offset, seconds, and place in the source's log."""

FLAGS = {"put": (False, False, False), "delete": (True, True, False), "tombstone": (True, True, True)}


def rules(lsn: str = "", *, hard: bool = False, anew: bool = False) -> Rules:
    by = soft(lsn)
    return Rules(by.identity, None if hard else by, anew)


@pytest.mark.parametrize("lsn", ["", "lsn"])
@pytest.mark.parametrize("most", [1, 4000, 2**20])
@pytest.mark.parametrize("seed", range(10))
def test_the_newest_changes_are_the_same_however_many_are_held(
    monkeypatch: pytest.MonkeyPatch, lsn: str, most: int, seed: int
) -> None:
    monkeypatch.setattr(shuffled, "_HELD", most)
    changes = drawn(random.Random(seed), 120)
    given = table(random.Random(seed).sample(changes, 120)).sort_by("key").combine_chunks()
    names = (*given.column_names, *([LSN] if lsn else []))

    newest = pa.Table.from_batches(Newest(rules(lsn), names, HERE).run(given.to_batches(max_chunksize=9)))

    assert rows_by_key(newest) == expected(changes, bool(lsn))
    assert tuple(newest.column_names) == names


def pair(row: Place, change: Place | None, kind: str = "put", *, gone: bool = False) -> pa.RecordBatch:
    """A row of the table beside a change; `gone`: the row is deleted already."""
    values = {**ROW, "deleted": gone, "_file": "f", **named(("partition", "offset", "at", "lsn"), row)}
    values |= named(tuple(PLACES.values()), change or (None,) * 4)
    values |= dict(zip((DELETED, BARE, TOMBSTONE), FLAGS[kind] if change else (None,) * 3, strict=True))
    return pa.RecordBatch.from_pylist([values], schema=SCHEMA)


def named(names: Sequence[str], place: Sequence[int | None]) -> dict[str, Any]:
    partition, offset, seconds, lsn = place
    return dict(zip(names, (partition, offset, seconds and seconds * 1_000_000, lsn), strict=True))


SCHEMA = pa.schema(
    [
        ("key", pa.string()), ("value", pa.int64()), ("op", pa.string()), ("deleted", pa.bool_()),
        ("deleted_at", MICROS), ("_file", pa.string()), ("partition", pa.int32()), ("offset", pa.int64()),
        ("at", MICROS), ("lsn", pa.int64()), (PARTITION, pa.int32()), (OFFSET, pa.int64()),
        (TIMESTAMP, MICROS), (LSN, pa.int64()), *((word, pa.bool_()) for word in (DELETED, BARE, TOMBSTONE)),
    ]
)  # fmt: skip


def judged(by: Rules, rows: pa.RecordBatch) -> list[dict[str, Any]]:
    names = ("key", "_file", DELETED, BARE, MET, WINS, ENDS)
    places = PLACES if by.identity.lsn else {n: own for n, own in PLACES.items() if n != "lsn"}
    return [row for b in Judge(by, places, names, HERE).run([rows]) for row in b.to_pylist()]


@pytest.mark.parametrize(
    ("by", "row", "change", "wins"),
    [
        (rules(hard=True), (0, 5, 9, None), (0, 6, 1, None), True),  # within a partition the offset
        (rules(hard=True), (0, 5, 1, None), (0, 4, 9, None), False),
        (rules(hard=True, anew=True), (0, 5, 1, None), (0, 4, 9, None), True),
        (rules(hard=True), (0, 5, 9, None), (1, 1, 8, None), False),  # between partitions the timestamp
        (rules(hard=True), (0, 5, 8, None), (1, 1, 8, None), True),  # and the greater partition
        (rules(hard=True), (1, 1, 8, None), (0, 5, 8, None), False),
        (rules("lsn"), (0, 5, 1, 90), (0, 6, 9, 80), False),  # the source's log
        (rules("lsn"), (0, 5, 9, 80), (1, 1, 1, 90), True),
        (rules("lsn"), (0, 5, 1, 80), (0, 6, 9, 80), True),
        (rules("lsn"), (0, 5, 9, None), (0, 6, 1, 90), True),
    ],
)
def test_a_change_wins_that_is_newer_than_its_row(by: Rules, row: Place, change: Place, wins: bool) -> None:
    (row_judged,) = judged(by, pair(row, change))

    assert (row_judged[WINS], row_judged[MET], row_judged[ENDS]) == (wins, False, False)


@pytest.mark.parametrize(
    ("kind", "gone", "wins", "ends"),
    [
        ("delete", False, True, True),
        ("delete", True, True, False),
        ("tombstone", False, True, True),
        ("tombstone", True, False, False),  # it says less than the row does
    ],
)
def test_a_delete_ends_a_row_once(kind: str, gone: bool, wins: bool, ends: bool) -> None:
    (row_judged,) = judged(rules(), pair((0, 5, 1, None), (0, 6, 2, None), kind, gone=gone))

    assert (row_judged[WINS], row_judged[ENDS], row_judged[MET]) == (wins, ends, True)


@pytest.mark.parametrize(
    ("by", "row", "gone", "ended"),
    [
        (rules(hard=True), (1, 9, 9, None), False, True),  # of its partition it was there before
        (rules(hard=True), (0, 9, 6, None), False, True),
        (rules(hard=True), (0, 9, 7, None), False, False),
        (rules(), (0, 9, 6, None), False, True),
        (rules(), (0, 9, 6, None), True, False),
    ],
)
def test_a_truncate_ends_rows_without_a_change(by: Rules, row: Place, gone: bool, ended: bool) -> None:
    by = replace(by, truncates=(TRUNCATE,))

    rows_judged = judged(by, pair(row, None, gone=gone))

    row = {"key": "a", "_file": "f", DELETED: True, BARE: True, MET: False, WINS: True, ENDS: True}
    assert rows_judged == ([row] if ended else [])


@pytest.mark.parametrize("hard", [True, False])
def test_truncated_rows_go_or_are_marked_and_are_counted(hard: bool) -> None:
    by = replace(rules(hard=hard), truncates=(TRUNCATE,))
    own = [f for f in SCHEMA if not f.name.startswith("$")]
    rows = [pair(place, None).select([f.name for f in own]) for place in ((1, 4, 9, None), (1, 6, 1, None))]

    rows_marked = [row for b in Empty(by, False, HERE).run(rows) for row in b.to_pylist()]
    counted = [row["gone"] for b in Empty(by, False, HERE).count(rows) for row in b.to_pylist()]

    rows_read = [(row["offset"], row["op"], row["deleted"]) for row in rows_marked]
    assert rows_read == ([(6, "u", False)] if hard else [(4, "t", True), (6, "u", False)])
    assert counted == [1, 0]


def test_a_row_that_stays_has_the_marks_of_its_delete() -> None:
    by = rules()
    marks = {"partition": 2, "offset": 8, "at": 3, "op": "d", "deleted": True, "deleted_at": 3, "lsn": None}
    own = [f for f in SCHEMA if not f.name.startswith("$") and f.name != "_file"]
    schema = pa.schema([*own, *(pa.field(shuffled._MARK + f.name, f.type) for f in own if f.name in marks)])
    row = {**ROW, "partition": 0, "offset": 5, "at": 1, "lsn": 50, "deleted": False}
    batch = pa.RecordBatch.from_pylist([{**row, **{shuffled._MARK + k: v for k, v in marks.items()}}], schema)

    (marked,) = [r for b in Mark(by, tuple(f.name for f in own), HERE).run([batch]) for r in b.to_pylist()]

    actual = {name: marked[name] for name in ("key", "value", "op", "deleted", "offset", "lsn")}
    assert actual == {"key": "a", "value": 7, "op": "d", "deleted": True, "offset": 8, "lsn": 50}
