"""Which change of a key counts, and what a deleted row must be that stays: docs/upsert.md, docs/cdc.md."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from frazil_verify.changes.newest import newest_changes
from frazil_verify.comparison import Comparison, Scope
from frazil_verify.entries import BAD, DELETE, ENTRY, GOOD, NO_LSN, SKIPPED, TOMBSTONE, Entries, digest
from kit.records.soft_changes import drawn, expected

WHOLE = Scope(landed={0: (0, 100), 1: (0, 100)}, kept={0: (0, 120), 1: (0, 120)})
SHORT = Scope(WHOLE.landed, {0: (50, 120), 1: (0, 120)})
KEY = digest(("k",))

Change = tuple[int, bytes, int]
"""An offset, values, and the kind."""


def entries(*changes: Change, partition: int = 0, time: int = 0, lsn: int = NO_LSN) -> Entries:
    """Changes of one key; the metadata columns of each are named by its offset."""
    made = [(KEY, row, at, time, partition, kind, row, digest((at,)), lsn) for at, row, kind in changes]
    return np.array(made, ENTRY)


def row(offset: int, values: bytes, own: int | None = None) -> Entries:
    made = entries((offset, values, GOOD))
    made["own"] = digest((offset if own is None else own,))
    return made


def kinds(records: Entries, rows: Entries, scope: Scope = WHOLE) -> list[str]:
    return [each.kind for each in Comparison(scope, keeps_deleted=True).of_keyed(records, rows)]


def test_between_partitions_the_later_timestamp_wins_and_within_one_the_offset() -> None:
    first = entries((5, b"a", GOOD), time=90)
    second, other = entries((6, b"b", GOOD), time=10), entries((1, b"c", GOOD), partition=1, time=20)

    assert newest_changes(np.concatenate([first, second, other]))["row"].tolist() == [b"c"]


@pytest.mark.parametrize(
    ("changes", "left"),
    [
        ([(1, b"a", GOOD), (2, b"b", GOOD), (3, b"", DELETE)], row(3, b"b")),
        ([(1, b"a", GOOD), (2, b"", DELETE), (3, b"", TOMBSTONE)], row(2, b"a")),
        ([(1, b"a", GOOD), (2, b"", TOMBSTONE)], row(2, b"a")),
        ([(1, b"a", GOOD), (2, b"", TOMBSTONE), (3, b"", TOMBSTONE)], row(2, b"a")),
        ([(1, b"a", GOOD), (2, b"", DELETE), (3, b"", DELETE)], row(3, b"a")),
        ([(1, b"a", GOOD), (2, b"", DELETE), (3, b"c", GOOD)], row(3, b"c")),
        ([(1, b"a", GOOD), (2, b"x", BAD), (3, b"", DELETE), (4, b"", SKIPPED)], row(3, b"a")),
    ],
)
def test_a_deleted_row_has_its_last_values_and_the_marks_of_its_delete(
    changes: list[Change], left: Entries
) -> None:
    records = entries(*changes)

    assert kinds(records, left) == []
    assert kinds(records, left[:0]) == ["missing"]


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        (row(3, b"a"), "altered"),  # older values
        (row(3, b"b", own=2), "altered"),  # marks of another record
        (row(2, b"b"), "superseded"),  # not marked
        (row(4, b"b"), "baseless"),  # marked by a tombstone that nobody sent
    ],
)
def test_another_row_of_a_deleted_key_is_found_by_its_kind(wrong: Entries, kind: str) -> None:
    records = entries((1, b"a", GOOD), (2, b"b", GOOD), (3, b"", DELETE))

    assert kinds(records, wrong) == [kind]


def test_a_delete_of_a_key_that_was_never_there_leaves_no_row() -> None:
    records = entries((1, b"", DELETE), (2, b"", TOMBSTONE))

    assert kinds(records, records[:0]) == []
    assert kinds(records, row(1, b"a")) == ["undeleted"]
    assert kinds(records, row(1, b"a"), SHORT) == []  # it may have been there in records that are gone


def made(**changes: Any) -> Entries:
    entry = entries((1, b"a", GOOD))
    for name, value in changes.items():
        entry[name] = value
    return entry


def test_rows_that_live_are_compared_with_their_marks() -> None:
    assert kinds(made(), row(1, b"a")) == []
    assert kinds(made(), row(1, b"a", own=2)) == ["altered"]
    assert kinds(made(row=b"new", older=b"a"), row(1, b"a")) == []


def by_log(records: Entries, rows: Entries, scope: Scope = WHOLE) -> tuple[list[str], int]:
    comparison = Comparison(scope, keeps_deleted=True, by_log=True)
    return [each.kind for each in comparison.of_keyed(records, rows)], comparison.unverifiable


def changes_by_log(number: int) -> tuple[Entries, list[tuple[bytes, Entries]]]:
    """Drawn changes of several keys, and by key the row that a dictionary says is left."""
    changes = [each | {"lsn": each["lsn"] or 0} for each in drawn(Random(number), 40)]
    kinds = {None: DELETE, ...: TOMBSTONE}
    made = [
        (
            digest((c["key"],)), b"-" if c["value"] in kinds else str(c["value"]).encode(), c["offset"],
            c["at"], c["partition"], kinds.get(c["value"], GOOD), b"-", digest((c["offset"],)),
            NO_LSN if c["value"] is ... else c["lsn"],
        )
        for c in changes
    ]  # fmt: skip
    at = {c["offset"]: c["partition"] for c in changes}
    rows = []
    for key, (offset, value, _) in expected(changes, by_lsn=True).items():
        values = b"-" if value is None else str(value).encode()
        row = (digest((key,)), values, offset, 0, at[offset], GOOD, values, digest((offset,)), NO_LSN)
        rows.append((digest((key,)), np.array([row], ENTRY)))
    return np.array(made, ENTRY), rows


WIDE = Scope(dict.fromkeys(range(3), (0, 100)), dict.fromkeys(range(3), (0, 100)))


@pytest.mark.parametrize("number", range(30))
def test_by_the_log_the_rows_are_those_that_a_dictionary_of_changes_leaves(number: int) -> None:
    records, rows = changes_by_log(number)
    placed = {key for key, _ in rows if (records["lsn"][records["identity"] == key] != NO_LSN).all()}
    of_placed = records[np.isin(records["identity"], list(placed))]
    left = np.concatenate([row for key, row in rows if key in placed] or [records[:0]])

    assert by_log(of_placed, left, WIDE) == ([], 0)
    assert by_log(of_placed, left[1:], WIDE)[0] == ["missing"] * len(left[:1])
    assert set(by_log(records, np.concatenate([row for _, row in rows]), WIDE)[0]) == set()


def test_an_older_change_by_the_log_wins_by_no_timestamp_and_by_no_offset() -> None:
    newest = entries((5, b"a", GOOD), time=10, lsn=90)
    late = entries((6, b"b", GOOD), time=20, lsn=80)
    records = np.concatenate([newest, late])

    assert by_log(records, row(5, b"a")) == ([], 0)
    assert by_log(records, row(6, b"b")) == (["superseded"], 0)


def test_a_tombstone_stands_in_the_log_where_the_change_before_it_does() -> None:
    live, gone = entries((1, b"a", GOOD), lsn=50), entries((2, b"", TOMBSTONE))
    other = np.concatenate([entries((1, b"b", GOOD), partition=1, lsn=40)])
    later = entries((1, b"c", GOOD), partition=1, lsn=60)
    marked = row(2, b"a")

    assert by_log(np.concatenate([live, gone, other]), marked) == ([], 0)
    assert by_log(np.concatenate([live, gone, later]), marked) == (["superseded"], 0)


def test_a_delete_by_the_log_leaves_a_row_of_the_key_unless_its_values_may_be_lost() -> None:
    records = entries((60, b"bare", DELETE), lsn=7)

    assert by_log(records, row(60, b"bare")) == ([], 0)
    assert by_log(records, records[:0]) == (["missing"], 0)
    assert by_log(records, row(60, b"a")) == (["altered"], 0)
    assert by_log(records, row(60, b"a"), SHORT) == ([], 1)


def test_a_change_that_lands_behind_its_delete_by_the_log_may_not_have_filled_the_row() -> None:
    records = np.concatenate([
        entries((1, b"a", GOOD), lsn=10), entries((2, b"bare", DELETE), lsn=30),
        entries((3, b"late", GOOD), lsn=20),
    ])  # fmt: skip

    for values, wrong in ((b"a", []), (b"late", []), (b"bare", []), (b"b", ["altered"])):
        assert by_log(records, row(2, values)) == (wrong, 0)


def test_a_key_whose_changes_the_log_does_not_order_is_counted_and_not_judged() -> None:
    placed, lost = entries((5, b"a", GOOD), time=10, lsn=9), entries((1, b"b", GOOD), partition=1, time=20)

    assert by_log(np.concatenate([placed, lost]), row(5, b"a")) == ([], 1)
