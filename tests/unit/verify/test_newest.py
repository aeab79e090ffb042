"""Which change of a key counts, and what a deleted row must be that stays: docs/upsert.md, docs/cdc.md."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frazil_verify.comparison import Comparison, Scope
from frazil_verify.entries import BAD, DELETE, ENTRY, GOOD, SKIPPED, TOMBSTONE, Entries, digest
from frazil_verify.newest import newest_changes

WHOLE = Scope(landed={0: (0, 100), 1: (0, 100)}, kept={0: (0, 120), 1: (0, 120)})
SHORT = Scope(WHOLE.landed, {0: (50, 120), 1: (0, 120)})
KEY = digest(("k",))

Change = tuple[int, bytes, int]
"""An offset, values, and the kind."""


def entries(*changes: tuple[int, bytes, int], partition: int = 0, time: int = 0) -> Entries:
    """Changes of one key; the metadata columns of each are named by its offset."""
    made = [(KEY, row, at, time, partition, kind, row, digest((at,))) for at, row, kind in changes]
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
