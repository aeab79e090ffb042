"""Backfill: a long topic in bounded landings, with word of each one, until it is stopped or through."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from frazil.connections import Connections
from frazil.continuous.schedule import turn_of
from frazil.errors import OvertakenError
from frazil.kafka.facts import TopicFacts, topic_fact
from frazil.landing.arrivals import Due
from frazil.landing.land import land
from frazil.landing.position.history import starts
from frazil.landing.position.ledger import GUESS
from frazil.landing.position.state import TableState, table_states
from frazil.landing.report import LandingReport, sum_of
from frazil.spec.names import writable
from frazil.spec.topic import TableSpec


@dataclass(frozen=True, slots=True)
class Filled:
    """How far a backfill is.

    Attributes:
        offsets: How many were to be landed when it began.
        left: How many of them are still to be landed.
        landed: What its own landings brought so far.
        overtaken: Landings that were dropped, for others landed the same records first.
        seconds: Since it began.
    """

    table: str
    offsets: int
    left: int
    landed: LandingReport
    overtaken: int = 0
    seconds: float = 0.0

    @property
    def done(self) -> int:
        """Offsets that are landed, by this process or another."""
        return self.offsets - self.left

    @property
    def seconds_left(self) -> float | None:
        """At the pace so far; None where there is none yet."""
        return self.seconds * self.left / self.done if self.done else None


def backfill(
    spec: TableSpec,
    connections: Connections,
    *,
    max_records: int | None = None,
    run_id: str = "",
    is_stopped: Callable[[], bool] = lambda: False,
    tell: Callable[[Filled], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> Filled:
    """Lands a topic up to where it ended when this began, in landings of bounded size.

    Each landing is one of its own: who stops, or kills, a backfill loses the one in hand at most, and another
    one goes on behind it. Landings of others at the same time land parts of the same backlog.

    Args:
        max_records: Most records of one landing; else what `frazil run` takes in a turn.
        is_stopped: Asked before each landing.
        tell: Told how far it is, before the first landing and after each.

    Raises:
        FrazilError: As `land` does; what was landed before stays.
    """
    name, began = writable(spec, connections.settings), clock()
    facts = topic_fact(connections.admin, spec.topic)
    state = _state(spec, connections)
    waits = _left(facts, state.position)
    filled = Filled(str(name), waits, waits, LandingReport(str(name), spec.topic))
    tell(filled)
    while filled.left and not is_stopped():
        most = _most(spec, state, filled.left, max_records)
        try:
            report = land(spec, connections, run_id=run_id, max_records=most)
        except OvertakenError:
            filled = replace(filled, overtaken=filled.overtaken + 1)
        else:
            filled = replace(filled, landed=sum_of(filled.landed, report))
        state = _state(spec, connections)
        left = _left(facts, state.position)
        filled = replace(filled, left=left, seconds=round(clock() - began, 3))
        tell(filled)
    return filled


def _state(spec: TableSpec, connections: Connections) -> TableState:
    return table_states([spec], connections)[0]


def _left(facts: TopicFacts, position: Mapping[int, int]) -> int:
    """Offsets between a position and the ends that the topic had."""
    return sum(max(0, facts.end[p] - at) for p, at in starts(facts, position).items())


def _most(spec: TableSpec, state: TableState, left: int, most: int | None) -> int:
    size = int(left * (state.bytes_per_record or GUESS))
    turn = turn_of(Due(spec, state.identifier, left, size, 0.0, "", state.position, 0.0))
    return min(turn.records, most or turn.records)
