"""How tables made of others stand: rows, files, what waits in their inputs. From metadata only."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from frazil.connections import Connections
from frazil.derive.computation import Computation, computation_of
from frazil.derive.positions.inputs import LOST, increment, is_unmoved, since, standing, whole
from frazil.derive.positions.ledger import DerivedLedger, Position
from frazil.errors import FrazilError, PositionLostError
from frazil.spec.derived import DerivedKind, DerivedSpec
from frazil.spec.names import TableName, things
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.works import started_at
from frazil.tables.metadata.rows import stored_rows
from frazil.tables.metadata.snapshots import made_at, number, summary_of

if TYPE_CHECKING:
    from pyiceberg.table import Table


_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class InputState:
    """One input of a table."""

    table: str
    # Missing: it has no snapshot; new: it was never read; lost: nothing tells what is new in it.
    state: Literal["missing", "new", "current", "behind", "rolled back", "lost"]
    waiting: int = 0  # rows that were not read yet
    read_to: int | None = None  # the snapshot that was read last
    head: int | None = None  # the newest snapshot
    # When the oldest of what waits was committed, in seconds since the epoch.
    waits_since: float | None = None
    reason: str = ""  # why it is lost


@dataclass(frozen=True, slots=True)
class DerivedState:
    """One table and its inputs, side by side.

    `lag` counts rows that wait in the inputs. `freshness` is 0 where none waits, else the seconds since
    the oldest of them came; None before the first derivation. `watermark`: microseconds since the epoch.
    """

    identifier: str
    kind: DerivedKind
    inputs: tuple[InputState, ...]
    snapshot_id: int | None
    rows: int
    files: int
    bytes: int
    lag: int
    freshness: float | None
    state: Literal["new", "current", "behind", "input missing", "rebuild needed"]
    reason: str = ""
    derived_at: float | None = None
    dead_letters: int = 0
    delete_files: int = 0
    late: int = 0
    watermark: int | None = None


def _inputs_of(computation: Computation, name: TableName) -> tuple[TableName, ...]:
    """The tables that a table is made of."""
    return tuple(TableName.parse(text, name.namespace) for text in computation.inputs)


def derived_states(
    specs: Sequence[DerivedSpec], connections: Connections, clock: Callable[[], float] = time.time
) -> list[DerivedState]:
    """The state of each table, in the order of the specs.

    Raises:
        PartDownError: The catalog does not answer.
        SpecError: A query can't be understood.
    """
    made = [(things(spec, connections.settings).table, computation_of(spec)) for spec in specs]
    wanted = dict.fromkeys(
        table for name, computation in made for table in (name, *_inputs_of(computation, name))
    )
    with catalog_errors(connections.settings), ThreadPoolExecutor(_AT_ONCE) as pool:
        catalog = connections.catalog
        loaded = pool.map(lambda name: TableHandle(catalog, name).load_or_none(), wanted)
        tables = dict(zip(wanted, loaded, strict=True))
    now = clock()
    return [_state(computation, name, tables, now) for name, computation in made]


def _state(
    computation: Computation, name: TableName, tables: Mapping[TableName, Table | None], now: float
) -> DerivedState:
    table = tables[name]
    try:
        ledger = DerivedLedger.newest(table.metadata) if table else None
    except FrazilError as e:  # of this table alone
        return replace(_sizes(name, computation, (), table), state="rebuild needed", reason=e.what)
    inputs = tuple(
        _input(computation, other, tables[other], ledger) for other in _inputs_of(computation, name)
    )
    word, reason = _word(computation, ledger, inputs)
    state_now = _sizes(name, computation, inputs, table)
    if table is None or ledger is None:
        return replace(state_now, state=word, reason=reason)
    waits = [i.waits_since for i in inputs if i.waits_since is not None]
    return replace(
        state_now,
        state=word,
        reason=reason,
        freshness=max(0.0, round(now - min(waits, default=now), 3)),
        derived_at=_derived_at(table, ledger),
        dead_letters=ledger.total_bad,
        late=ledger.total_late,
        watermark=ledger.watermark,
    )


def _sizes(
    name: TableName, computation: Computation, inputs: tuple[InputState, ...], table: Table | None
) -> DerivedState:
    head = table.current_snapshot() if table else None
    summary = summary_of(head)
    return DerivedState(
        identifier=str(name),
        kind=computation.spec.kind,
        inputs=inputs,
        snapshot_id=head.snapshot_id if head else None,
        rows=stored_rows(table, head) if table else 0,
        files=number(summary, "total-data-files"),
        bytes=number(summary, "total-files-size"),
        delete_files=number(summary, "total-delete-files"),
        lag=sum(i.waiting for i in inputs),
        freshness=None,
        state="new",
    )


def _input(
    computation: Computation, name: TableName, table: Table | None, ledger: DerivedLedger | None
) -> InputState:
    head = table.current_snapshot() if table else None
    if table is None or head is None:
        return InputState(str(name), "missing", reason=f"Table {name} has no rows yet.")
    state = InputState(str(name), "new", whole(table).rows, head=head.snapshot_id)
    position = ledger.inputs.get(str(name)) if ledger else None
    if ledger is None or position is None:
        return state
    news = list(since(table, position))
    waits_since = made_at(news[-1]) if news else None
    state = replace(state, state="behind", read_to=position.snapshot, waits_since=waits_since)
    if computation.spec.kind != "full":
        return _followed(state, table, position, follows=computation.follows(ledger))
    return _nothing_waits(state, "current") if is_unmoved(table, position) else state


def _nothing_waits(
    before: InputState, state: Literal["current", "rolled back", "lost"], reason: str = ""
) -> InputState:
    return replace(before, state=state, waiting=0, waits_since=None, reason=reason)


def _followed(state: InputState, table: Table, position: Position, *, follows: bool) -> InputState:
    """An input of which only what is new is read."""
    how = standing(position, table)
    if how == "rolled_back":
        return _nothing_waits(state, "rolled back", f"{state.table} was rolled back.")
    if how in LOST:
        return _nothing_waits(state, "lost", f"{state.table} {LOST[how]}.")
    try:
        waiting = increment(table, position, follows=follows).rows
    except PositionLostError as e:
        return _nothing_waits(state, "lost", e.what)
    return replace(state, waiting=waiting) if waiting else _nothing_waits(state, "current")


def _word(
    computation: Computation, ledger: DerivedLedger | None, inputs: Sequence[InputState]
) -> tuple[Literal["new", "current", "behind", "input missing", "rebuild needed"], str]:
    """How the table stands, and where a person should know more: why."""
    reason = next((i.reason for i in inputs if i.reason), "")
    states = {i.state for i in inputs}
    if "missing" in states:
        return "input missing", reason
    if ledger is None:
        return "new", ""
    if ledger.query != computation.fingerprint and computation.spec.kind == "full":
        return "behind", "The query is another than the one that made its rows."
    if ledger.query != computation.fingerprint:
        return "rebuild needed", "The query is another than the one that made its rows."
    if "lost" in states:
        return "rebuild needed", reason
    return ("current", "") if states <= {"current"} else ("behind", reason)


def _derived_at(table: Table, newest: DerivedLedger) -> float:
    """When the newest derivation was committed, in seconds since the epoch; where it expired: begun."""
    for snapshot, _ in DerivedLedger.all(table.metadata):
        return made_at(snapshot)
    return started_at(newest.derivation)
