"""A delete and an insert of one key in one snapshot are an update, whoever tells them apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from frazil.spec.names import TableName
from frazil.tables.changelog import Change, Changelog

Sent = tuple[str, int, Any, int | None]
"""Whether a row went or came, a snapshot's number, a key, and a value."""


class _Told(Changelog):
    """Rows that went and came, in order."""

    rows: tuple[Sent, ...] = ()

    def batches(self) -> Iterator[pa.RecordBatch]:
        for kind, number, key, value in self.rows:  # a batch each
            own = {"_change_type": kind, "_change_ordinal": number, "_commit_snapshot_id": 100 + number}
            yield pa.RecordBatch.from_pylist([{"k": key, "l": 7, "n": value, **own}])


def changes(*rows: Sent) -> list[tuple[str, int, Any, Any]]:
    log: Any = type("Log", (_Told,), {"rows": rows})
    return [of(change) for change in log(None, TableName("n", "t"), (), ("k", "l"))]


def of(change: Change) -> tuple[str, int, Any, Any]:
    before, after = (half and half["n"] for half in (change.before, change.after))
    return change.kind, change.snapshot_id - 100, before, after


@pytest.mark.parametrize(
    ("one", "other"), [(b"\0", b"\0\0"), ([1], [1, 2]), ({"x": b"a"}, {"x": b"b"}), ("a", "b")]
)
def test_rows_are_paired_by_what_their_keys_hold(one: Any, other: Any) -> None:
    assert changes(("DELETE", 0, one, 1), ("INSERT", 0, one, 2)) == [("update", 0, 1, 2)]
    apart = changes(("DELETE", 0, one, 1), ("INSERT", 0, other, 2))
    assert apart == [("delete", 0, 1, None), ("insert", 0, None, 2)]
    later = changes(("DELETE", 0, one, 1), ("INSERT", 1, one, 2))
    assert later == [("delete", 0, 1, None), ("insert", 1, None, 2)]


def test_every_change_is_told_once_and_in_order() -> None:
    changed = changes(
        ("DELETE", 0, b"a", 1),
        ("DELETE", 0, b"b", 2),
        ("INSERT", 0, b"b", 3),
        ("INSERT", 0, b"c", None),
        ("DELETE", 1, b"c", None),
        ("INSERT", 1, b"c", 4),
        ("DELETE", 2, b"c", 4),
    )

    assert changed == [
        ("delete", 0, 1, None),
        ("update", 0, 2, 3),
        ("insert", 0, None, None),
        ("update", 1, None, 4),
        ("delete", 2, 4, None),
    ]
