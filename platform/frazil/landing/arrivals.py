"""Which tables are due: their topic has moved far enough, or long enough ago. Metadata calls only."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from frazil.connections import Connections
from frazil.landing.state import BLOCKED, TableState, table_states
from frazil.spec.topic import TableSpec

_GUESS = 1024.0


@dataclass(frozen=True, slots=True)
class Due:
    """A table to be landed, and why."""

    spec: TableSpec
    table: str
    records: int
    bytes: int
    age: float
    reason: str
    position: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Arrivals:
    """One look at all tables."""

    due: tuple[Due, ...]
    states: tuple[TableState, ...]

    @property
    def waiting(self) -> int:
        """Records that wait in all topics."""
        return sum(state.lag for state in self.states)

    @property
    def blocked(self) -> Mapping[str, str]:
        """The state of each table that no landing gets on with."""
        return {s.identifier: s.state for s in self.states if s.state in BLOCKED}

    @property
    def missing(self) -> tuple[str, ...]:
        """Topics that nobody has made."""
        return tuple(s.topic for s in self.states if s.state == "topic missing")


def look_for_arrivals(
    specs: Sequence[TableSpec], connections: Connections, clock: Callable[[], float] = time.time
) -> Arrivals:
    """Compares every topic with its table's position and the spec's thresholds.

    A blocked table is never due: landing it again would fail in the same way.

    Raises:
        PartDownError: Kafka or the catalog does not answer.
    """
    states = table_states(specs, connections, clock)
    pairs = zip(specs, states, strict=True)
    due = tuple(d for spec, state in pairs if (d := _due(spec, state, clock())))
    return Arrivals(due, tuple(states))


def _due(spec: TableSpec, state: TableState, now: float) -> Due | None:
    if not state.lag or state.state in BLOCKED:
        return None
    size = int(state.lag * (state.bytes_per_record or _GUESS))
    age = now - state.landed_at if state.landed_at else float("inf")
    reason = _reason(spec, state.lag, size, age)
    if not reason:
        return None
    return Due(spec, state.identifier, state.lag, size, age, reason, state.position)


def _reason(spec: TableSpec, records: int, size: int, age: float) -> str:
    when = spec.land_when
    if records >= when.records:
        return f"{records} records wait, {when.records} are enough"
    if size >= when.bytes:
        return f"about {size} bytes wait, {int(when.bytes)} are enough"
    if age >= when.age.total_seconds():
        since = "never landed" if age == float("inf") else f"last landing {age:.0f} s ago"
        return f"{records} records wait, {since}"
    return ""
