"""Rollback: another snapshot that `main` held becomes its head, and its position the table's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from frazil.errors import MissingError, RepairError
from frazil.spec.names import TableName
from frazil.tables.catalogs.handle import TableHandle, name_of
from frazil.tables.catalogs.pyiceberg import transaction
from frazil.tables.commits.commit import commit
from frazil.tables.commits.ledger import Entry, Recorded, rewind
from frazil.tables.commits.staging import move_ref
from frazil.tables.commits.suspension import MARKS, is_halted
from frazil.tables.metadata.snapshots import ancestors, line_of, made_at, number, summary_of

if TYPE_CHECKING:
    from pyiceberg.table import Table, Transaction
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

_SHOWN = 5  # snapshots that an error names

E = TypeVar("E", bound=Entry)


@dataclass(frozen=True, kw_only=True)
class Rollback:
    """What one rollback did; `snapshot_id` is the head of `main` now, and `text` says what to do next."""

    table: str
    snapshot_id: int
    from_snapshot_id: int
    rows: int
    rows_before: int
    done: bool
    text: str


@dataclass(frozen=True, slots=True)
class Turn(Generic[E]):
    """A rollback that is possible: the head that comes, and what it says of the position."""

    table: Table
    target: Snapshot
    recorded: Recorded[E]

    @property
    def head(self) -> Snapshot:
        """The head that goes."""
        return next(ancestors(self.table.metadata))

    @property
    def moves(self) -> bool:
        """Whether they differ."""
        return self.head.snapshot_id != self.target.snapshot_id

    @property
    def returns(self) -> bool:
        """Whether a rollback is rolled back: the head that goes stays in the line, and nothing leaves."""
        line = line_of(self.table.metadata, self.target)
        return any(s.snapshot_id == self.head.snapshot_id for s in line)


def turn_back(
    handle: TableHandle,
    to: int | datetime,
    kind: type[E],
    check: Callable[[Turn[E]], None] = lambda _: None,
) -> Turn[E]:
    """Makes a snapshot the head of `main`, and its position the table's, in one commit.

    `to` is a snapshot's id, or a moment: the newest ancestor of the head that is not younger is meant.
    """
    turns: list[Turn[E]] = []

    def stage(table: Table) -> Transaction | None:
        target = snapshot_at(table, to)
        turns.append(turn := Turn(table, target, _recorded(table, target, kind)))
        check(turn)
        return move_main(table, target, kind, turn.recorded) if turn.moves else None

    commit(handle, stage, work="rollback", todo="Roll back again.")
    return next((turn for turn in reversed(turns) if turn.moves), turns[-1])


def move_main(table: Table, target: Snapshot, kind: type[Entry], recorded: Recorded[Any]) -> Transaction:
    """Stages that a snapshot becomes the head of `main`, and what it says the table's copy."""
    tx = transaction(table)
    lifted = () if is_halted(table.properties) else [name for name in MARKS if name in table.properties]
    if lifted:
        tx.remove_properties(*lifted)
    rewind(tx, kind, recorded)
    move_ref(tx, "main", target.snapshot_id)
    return tx


def report_of(name: TableName, turn: Turn[Any], follows: str, *, published: bool) -> Rollback:
    """What a rollback did, for people; `follows` says what the table's next work does."""
    text = f"{name} is at snapshot {turn.target.snapshot_id} already, made {_moment(turn.target)}."
    if turn.moves:
        text = (
            f"{name} is again as it was at snapshot {turn.target.snapshot_id}, made {_moment(turn.target)}; "
            f"its columns stay as they are. {follows}"
        )
        text += f" Glue and Snowflake show it after `frazil sync {name}`." if published else ""
    return Rollback(
        table=str(name),
        snapshot_id=turn.target.snapshot_id,
        from_snapshot_id=turn.head.snapshot_id,
        rows=row_count(turn.target),
        rows_before=row_count(turn.head),
        done=turn.moves,
        text=text,
    )


def row_count(snapshot: Snapshot) -> int:
    """Rows of the table at a snapshot."""
    return number(summary_of(snapshot), "total-records")


def snapshot_at(table: Table, to: int | datetime) -> Snapshot:
    """The snapshot of an id, or the one of `main` at a time; a MissingError where there is none."""
    if isinstance(to, int):
        candidates = (s for s in (*ancestors(table.metadata), *_ahead(table.metadata)) if s.snapshot_id == to)
    else:
        candidates = (s for s in ancestors(table.metadata) if s.timestamp_ms <= to.timestamp() * 1000)
    if target := next(candidates, None):
        return target
    raise _no_target(table, to)


def _ahead(metadata: TableMetadata) -> Iterator[Snapshot]:
    """What `main` held behind its present head, until a rollback took it away."""
    logged = {entry.snapshot_id for entry in metadata.snapshot_log}
    return (
        snapshot
        for snapshot in metadata.snapshots
        if snapshot.snapshot_id in logged
        and any(s.snapshot_id == metadata.current_snapshot_id for s in line_of(metadata, snapshot))
    )


def _recorded(table: Table, target: Snapshot, kind: type[E]) -> Recorded[E]:
    if recorded := kind.newest_of(line_of(table.metadata, target)):
        return recorded
    if kind.copy(table.properties) is None:
        return Recorded(None, 0)
    raise RepairError(
        f"The position of snapshot {target.snapshot_id} of {name_of(table)} is no longer known.",
        where=f"made {_moment(target)}; the snapshot that told it is expired",
        meaning="Nothing could tell any more what the table holds of its source. Nothing was changed.",
        todo=f"Roll back to one of these: {_shown(s for s, _ in kind.all(table.metadata))}.",
    )


def _no_target(table: Table, to: int | datetime) -> MissingError:
    name = name_of(table)
    line = list(ancestors(table.metadata))
    if isinstance(to, datetime):
        what = f"No snapshot of {name} is as old as {to.isoformat(sep=' ')}."
    elif table.metadata.snapshot_by_id(to):
        what = (
            f"Snapshot {to} of {name} is no ancestor of main: it is another branch's, or other work went on "
            "since a rollback left it."
        )
    else:
        what = f"{name} has no snapshot {to}; it may have expired."
    return MissingError(
        what,
        where=f"{len(line)} snapshots of main are kept: {_shown(line)}",
        meaning="Nothing was changed.",
        todo=f"Name one of these, or a later moment; `frazil describe {name}` lists them.",
    )


def _shown(snapshots: Iterable[Snapshot]) -> str:
    few = list(islice(snapshots, _SHOWN + 1))
    listed = ", ".join(f"{s.snapshot_id} ({_moment(s)})" for s in few[:_SHOWN])
    return f"{listed}, ..." if len(few) > _SHOWN else listed


def _moment(snapshot: Snapshot) -> str:
    """When it was made, for people."""
    made = datetime.fromtimestamp(made_at(snapshot), UTC)
    return f"{made.isoformat(sep=' ', timespec='milliseconds').removesuffix('+00:00')} UTC"
