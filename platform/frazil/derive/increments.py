"""What is new in an input since it was read last, as its snapshots say; nothing is read for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from frazil.derive.ledger import Position
from frazil.derive.positions import at_head
from frazil.errors import PositionLostError
from frazil.tables.snapshots import ancestors, summary_of

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

__all__ = ["Increment", "increment", "is_same", "whole"]

_ROW_EXPIRY = ("frazil.upkeep", "row_expiry")
"""In the summary of a snapshot that took rows out for their age: what was made of them stays."""

_IDLE = 5
"""Snapshots without a row, such as compactions, behind which the position follows: expiry keeps ten."""


@dataclass(frozen=True, slots=True)
class Increment:
    """Rows of one input.

    Args:
        since: The snapshot that was read last; None: all that the newest one holds.
        to: The position of whoever has read these rows.
        snapshots: Snapshots in between, those without rows among them.
        rows: How many there are.
        bytes: Bytes of the data files that hold them.
    """

    since: int | None
    to: Position
    snapshots: int = 0
    rows: int = 0
    bytes: int = 0

    @property
    def is_due(self) -> bool:
        """Whether a table must move on: for rows, or lest its position expires."""
        return self.since is None or self.rows > 0 or self.snapshots >= _IDLE


def whole(table: Table) -> Increment:
    """All of an input."""
    head = next(ancestors(table.metadata), None)
    rows, size = _number(head, "total-records"), _number(head, "total-files-size")
    return Increment(None, at_head(table), 1, rows, size)


def increment(table: Table, position: Position) -> Increment:
    """What was appended to an input since a position that it holds.

    A compaction brings no row, and a row expiry takes none from those who have read it.

    Raises:
        PositionLostError: Rows that were read were changed or deleted.
    """
    news = list(_since(table, position))
    added = [s for s in news if _operation(s) == "append"]
    if changed := [s for s in news if not (_operation(s) in ("append", "replace") or _is_row_expiry(s))]:
        raise _rewritten(table, changed[-1])
    rows, size = (sum(_number(s, key) for s in added) for key in ("added-records", "added-files-size"))
    return Increment(position.snapshot, at_head(table), len(news), rows, size)


def is_same(table: Table, position: Position) -> bool:
    """Whether an input that holds the position has no other rows than there."""
    return all(_operation(s) == "replace" for s in _since(table, position))


def _since(table: Table, position: Position) -> Iterator[Snapshot]:
    return takewhile(lambda s: s.snapshot_id != position.snapshot, ancestors(table.metadata))


def _operation(snapshot: Snapshot) -> str:
    return snapshot.summary.operation.value if snapshot.summary else "overwrite"


def _is_row_expiry(snapshot: Snapshot) -> bool:
    key, value = _ROW_EXPIRY
    return summary_of(snapshot).get(key) == value


def _number(snapshot: Snapshot | None, key: str) -> int:
    return int(summary_of(snapshot).get(key, 0))


def _rewritten(table: Table, first: Snapshot) -> PositionLostError:
    return PositionLostError(
        f"Rows of {'.'.join(table.name())} were changed or deleted since they were read.",
        where=f"snapshot {first.snapshot_id}, {_operation(first)}",
        meaning="What was made of them can't be mended row by row. Nothing was changed.",
        todo="`frazil derive TABLE --rebuild` makes all of it anew, in one commit.",
    )
