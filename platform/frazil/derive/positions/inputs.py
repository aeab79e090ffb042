"""The inputs of a table: what became of a position, and what is new behind it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Literal

from frazil.connections import Connections
from frazil.derive.positions.ledger import DerivedLedger, Position
from frazil.errors import MissingError, PositionLostError
from frazil.landing.position.ledger import Ledger, ledgers
from frazil.landing.upsert.key import key_columns
from frazil.spec.names import TableName
from frazil.tables.catalogs.handle import TableHandle, name_of
from frazil.tables.commits.commit import set_properties
from frazil.tables.commits.ledger import FORMAT
from frazil.tables.metadata.rows import rows_added, stored_rows
from frazil.tables.metadata.snapshots import ancestors, is_first, number, summary_of
from frazil.tables.spark.session import live_rows

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

Inputs = Mapping[str, "Table"]
"""The inputs as they are now, by `namespace.table`."""

Standing = Literal["held", "rolled_back", "expired", "recreated"]
"""held: the input only went on; rolled_back: it no longer has rows that were read; the others: see `LOST`."""

LOST: Mapping[Standing, str] = {
    "recreated": "is another table of the same name now",
    "expired": "no longer has the snapshot that was read last, nor those behind it",
}
"""Why nothing tells any more what is new in an input: what becomes of its name in a sentence."""


def at_head(table: Table) -> Position:
    """The position of a table that has read all of an input.

    Raises:
        MissingError: It has no snapshot yet.
    """
    head = next(ancestors(table.metadata), None)
    if head is None:
        raise MissingError(
            f"Table {'.'.join(table.name())} has no snapshot yet: nothing was ever written to it.",
            meaning="Nothing was derived from it.",
            todo="Land its topic, or derive it, first.",
        )
    return Position(str(table.metadata.table_uuid), head.snapshot_id, head.sequence_number or 0)


def standing(position: Position, table: Table) -> Standing:
    """What became of an input since it was read up to there."""
    if str(table.metadata.table_uuid) != position.uuid:
        return "recreated"
    line = list(ancestors(table.metadata))
    if any(s.snapshot_id == position.snapshot for s in line):
        return "held"
    oldest = line[-1] if line else None
    if oldest is None or is_first(oldest):
        return "rolled_back"
    if oldest.parent_snapshot_id == position.snapshot:  # expired, but all that came later is there
        return "held"
    # Sequence numbers grow along a branch: what is younger than the oldest would stand in the line.
    return "rolled_back" if position.sequence >= (oldest.sequence_number or 0) else "expired"


def inputs_cover(positions: Mapping[str, Position], inputs: Inputs) -> bool:
    """Whether a table at these positions holds nothing that its inputs do not."""
    return positions.keys() == inputs.keys() and all(
        standing(position, inputs[name]) == "held" for name, position in positions.items()
    )


def none_went_back(positions: Mapping[str, Position], inputs: Inputs) -> bool:
    """Whether no input is known to have lost rows that were read; they may have expired."""
    return not any(
        standing(position, inputs[name]) == "rolled_back"
        for name, position in positions.items()
        if name in inputs
    )


_READER = "frazil.reader."  # property of an input, with the table behind it that reads it


def note_reader(inputs: Iterable[Table], reader: TableName) -> None:
    """Lets inputs know who reads them, once: their expiry leaves alone what that one has yet to read.

    A table without a ledger is another tool's: Frazil does not expire its snapshots, nor write to it.
    """
    for table in inputs:
        if _has_ledger(table) and str(reader) not in readers_of(table):
            set_properties(TableHandle.of(table), {f"{_READER}{reader}": "derived"})


def readers_of(table: Table) -> tuple[str, ...]:
    """The tables that are made of a table, or once were."""
    return tuple(key.removeprefix(_READER) for key in table.properties if key.startswith(_READER))


def _has_ledger(table: Table) -> bool:
    """In its properties, or as a table of dead letters: in its snapshots only."""
    return FORMAT in table.properties or any(FORMAT in summary_of(s) for s in ancestors(table.metadata))


_IDLE = 5  # snapshots without a row, such as compactions, behind which the position follows: expiry keeps ten


@dataclass(frozen=True, slots=True)
class Increment:
    """Rows of one input."""

    since: int | None  # the snapshot that was read last; None: all that the newest one holds
    to: Position  # the position once these rows are read
    snapshots: int = 0  # how many came in between, those without rows among them
    rows: int = 0  # rows that came; where some changed or went: how many did either, at most
    bytes: int = 0  # bytes of the data files that hold the rows
    changed: bool = False  # whether rows that were read may have changed, or gone; else all of them are new

    @property
    def is_due(self) -> bool:
        """Whether a table must move on: because there are rows, or before its position expires."""
        return self.since is None or self.rows > 0 or self.snapshots >= _IDLE


def whole(table: Table) -> Increment:
    """All of an input."""
    head = next(ancestors(table.metadata), None)
    return Increment(None, at_head(table), 1, stored_rows(table, head), _number(head, "total-files-size"))


def increment(table: Table, position: Position, *, follows: bool = False) -> Increment:
    """What is new in an input since a position that it holds.

    A compaction brings no row. A row expiry takes none from those who have read it, nor does forgetting; but
    expired rows of a table whose rows change go like others that are deleted.

    Args:
        follows: Whether rows of a table whose rows change may have changed, or gone.

    Raises:
        PositionLostError: Rows that were read were changed or deleted, and nothing tells which.
    """
    news = list(since(table, position))
    followed = follows and is_changing(table)
    changing = [s for s in news if not (_operation(s) in ("append", "replace") or _takes_out(s, followed))]
    if changing and not (followed and _can_follow(table, position)):
        raise _rewritten(table, changing[-1])
    rows = sum(rows_added(table, s) for s in news if _operation(s) == "append")
    rows += sum(map(_rows_changed, changing))
    size = sum(_number(s, "added-files-size") for s in news if _operation(s) == "append" or s in changing)
    return Increment(position.snapshot, at_head(table), len(news), rows, size, bool(changing))


def is_changing(table: Table) -> bool:
    """Whether rows of a table change and go as it goes on, and who has read them may follow that.

    Those of a table with a key do, and of one that is made of such, or by a kind that merges.
    """
    if key_columns(table):
        return True
    ledger = DerivedLedger.newest(table.metadata, whatever_it_holds=True)
    return ledger is not None and bool(ledger.changing)


def _can_follow(table: Table, position: Position) -> bool:
    """Whether the files that went are there."""
    return table.metadata.snapshot_by_id(position.snapshot) is not None


def _rows_changed(snapshot: Snapshot) -> int:
    """How many rows a snapshot changed, brought and took: as a landing says, else at most."""
    summary = summary_of(snapshot)
    landed = sum(number(summary, f"frazil.{word}") for word in ("inserted", "updated", "deleted"))
    return landed or max(1, number(summary, "added-records"), number(summary, "deleted-records"))


def rows_read(connections: Connections, table: Table, new: Increment) -> int:
    """How many rows an increment has, without those that delete files took away."""
    if new.since is not None:
        return new.rows
    return live_rows(connections, name_of(table), table.metadata.snapshot_by_id(new.to.snapshot))


def rows_lost(connections: Connections, table: Table, position: Position, read: int) -> int:
    """How many rows that were read up to a position an input no longer holds.

    They are more where it has also lost the snapshots that tell what came behind the position. Rows whose
    deletion was accepted since are none of them, nor are those of a table whose rows change: they may go.
    """
    if is_changing(table):
        return 0
    if str(table.metadata.table_uuid) != position.uuid:
        return read
    newer = (s for s in ancestors(table.metadata) if (s.sequence_number or 0) > position.sequence)
    added = sum(rows_added(table, s) for s in newer if _operation(s) == "append")
    lawful = _accepted_since(table, position)
    return max(0, read + added - lawful - live_rows(connections, name_of(table), table.current_snapshot()))


def _accepted_since(table: Table, position: Position) -> int:
    """Rows of a topic's table that were forgotten, or whose deletion was accepted, behind a position."""
    entries = list(ledgers(table.metadata))
    then = [each for s, each in entries if (s.sequence_number or 0) <= position.sequence]
    return _lawfully_gone(entries[0][1]) - _lawfully_gone(then[0]) if then else 0


def _lawfully_gone(ledger: Ledger) -> int:
    return ledger.total_accepted + ledger.total_forgotten


def is_unmoved(table: Table, position: Position) -> bool:
    """Whether an input holds the position, and no other rows than there."""
    return standing(position, table) == "held" and all(
        _operation(s) == "replace" for s in since(table, position)
    )


def since(table: Table, position: Position) -> Iterator[Snapshot]:
    """The snapshots behind a position, newest first."""
    return takewhile(lambda s: s.snapshot_id != position.snapshot, ancestors(table.metadata))


def _operation(snapshot: Snapshot) -> str:
    return snapshot.summary.operation.value if snapshot.summary else "overwrite"


def _takes_out(snapshot: Snapshot, followed: bool) -> bool:
    """Whether it is upkeep that takes rows out, and what was made of them is not its concern."""
    work = summary_of(snapshot).get("frazil.upkeep")
    return work == "forgetting" or (work == "row_expiry" and not followed)


def _number(snapshot: Snapshot | None, key: str) -> int:
    return int(summary_of(snapshot).get(key, 0))


def _rewritten(table: Table, first: Snapshot) -> PositionLostError:
    return PositionLostError(
        f"Rows of {'.'.join(table.name())} were changed or deleted since they were read.",
        where=f"snapshot {first.snapshot_id}, {_operation(first)}",
        meaning="What was made of them can't be fixed row by row. Nothing was changed.",
        todo="`frazil derive TABLE --rebuild` recomputes all rows, in one commit.",
    )
