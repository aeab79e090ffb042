"""Which tables are due: their topic has moved far enough, or long enough ago. Metadata calls only.

Kafka tells of all topics at once, so every look sees all of them. Tables are asked for one by one. Who looks
again and again therefore remembers where they stood, and asks for three kinds: those that seem to be due,
those that are not known yet, and a few of the others in turn. So a table that somebody rolled back while its
topic stood still is due some looks later. No table is due that was not asked for in the same look.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from frazil.connections import Connections, apart
from frazil.errors import FrazilError, PartDownError
from frazil.kafka.facts import known_facts
from frazil.landing.position.ledger import GUESS
from frazil.landing.position.standing import Standings, ask_tables
from frazil.landing.position.state import BLOCKED, TableState, raise_first, state_of
from frazil.landing.schema.evolve import fits_again
from frazil.spec.names import TableName, things
from frazil.spec.topic import TableSpec

MOST_ASKED = 200
"""Tables that one look asks: 2 ms of CPU each here, and up to 50 ms at a server that reads all metadata."""

_COMPARES_EVERY, _MOST_COMPARED = 30.0, 10
"""Seconds between two questions to the registry about one suspended table, and most of them in one look."""

_LOOKS = 30
"""Looks within which every table is asked: five minutes of the sensor's."""

Memory = dict[str, Standings]
"""What earlier looks found, by connection."""


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
    every: float  # seconds between two landings of it, while few records come


@dataclass(frozen=True, slots=True)
class Arrivals:
    """One look at all tables.

    `unknown`: how many tables were not asked for yet; the next look goes on with them. `failed`: those that
    can't be read, and why.
    """

    due: tuple[Due, ...]
    seen: tuple[tuple[TableSpec, TableState], ...]
    unknown: int = 0
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def states(self) -> tuple[TableState, ...]:
        """The states of all tables that are known."""
        return tuple(state for _, state in self.seen)

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
    specs: Sequence[TableSpec],
    connections: Connections,
    clock: Callable[[], float] = time.time,
    memory: Standings | None = None,
    most: int = MOST_ASKED,
    *,
    in_turn: bool = True,
) -> Arrivals:
    """Compares every topic with its table's position and the spec's thresholds.

    A blocked table is not due: landing it again would fail in the same way. What blocks it is looked at each
    time: its position and its topic, and whether a schema that was refused fits by now. With a memory that is
    kept between looks at most `most` tables are asked for; without one, all are. Who looks very often asks
    for the tables that are not due `in_turn` with some of the looks only.

    Raises:
        PartDownError: Kafka does not answer, or the catalog tells of no table.
    """
    settings, now = connections.settings, clock()
    topics, refused = known_facts(connections.admin, {spec.topic for spec in specs})
    every = {things(spec, settings).table: spec for spec in specs}
    names = {name: spec for name, spec in every.items() if spec.topic not in refused}
    standings: Standings = {} if memory is None else memory

    failed: dict[TableName, FrazilError] = {}

    def states(of: Iterable[TableName], *, forks: bool) -> dict[TableName, TableState]:
        known = {}
        for name in of:
            if table := standings.get(name):
                try:
                    known[name] = state_of(
                        names[name], name, table, topics, settings, now, forks=forks, again=memory is not None
                    )
                except FrazilError as e:
                    failed[name] = e
        return known

    seen = states(names, forks=False)
    wanted = list(names) if memory is None else _wanted(names, seen, standings, now, in_turn=in_turn)[:most]
    failed |= ask_tables({name: names[name] for name in wanted}, connections, standings)
    asked = states(wanted, forks=True)
    if any(state.state == "topic changed" for state in asked.values()):
        again, _ = known_facts(connections.admin, topics)  # a landing was quicker
        topics |= again
        asked = states(wanted, forks=True)
    if len(failed) == len(wanted):
        raise_first(failed.values())
    mended = _mended({name: names[name] for name in asked}, asked, connections, standings, now)
    asked |= {name: replace(asked[name], state="behind", reason="") for name in mended}
    seen = {name: state for name, state in (seen | asked).items() if name not in failed}
    untold = {name: refused[spec.topic] for name, spec in every.items() if name not in names}
    return Arrivals(
        due=tuple(due for name, state in asked.items() if (due := _due(names[name], state, now))),
        seen=tuple((spec, seen[name]) for name, spec in names.items() if name in seen),
        unknown=len(names) - len(seen) - len(failed),
        failed={str(name): error.what for name, error in (untold | failed).items()},
    )


def look_at_each(
    specs: Sequence[TableSpec], connections: Connections, memory: Memory, *, in_turn: bool = True
) -> tuple[list[Arrivals], list[FrazilError]]:
    """What came in each connection; and why some can't tell."""
    seen: list[Arrivals] = []
    silent: list[FrazilError] = []
    for own, clients in apart(specs, connections):
        known = memory.setdefault(own[0].connection, {})
        try:
            seen.append(look_for_arrivals(own, clients, memory=known, in_turn=in_turn))
        except FrazilError as e:
            silent.append(e)
    return seen, silent


def _wanted(
    names: Mapping[TableName, TableSpec],
    seen: Mapping[TableName, TableState],
    standings: Standings,
    now: float,
    *,
    in_turn: bool,
) -> list[TableName]:
    """The tables that a look asks for: those that are not known, a few in turn, and those that may be due."""
    longest_ago = [name for name in standings if name in names]
    turn = longest_ago[: len(names) // _LOOKS + 1] if in_turn else []
    new = [name for name in names if name not in standings]
    due = [n for n in longest_ago if seen[n].state in BLOCKED or _due(names[n], seen[n], now)]
    return list(dict.fromkeys((*new, *turn, *due)))


def _mended(
    specs: Mapping[TableName, TableSpec],
    states: Mapping[TableName, TableState],
    connections: Connections,
    standings: Standings,
    now: float,
) -> list[TableName]:
    """Tables that a refused schema suspends, for which records wait, and whose newest schema fits again."""
    waiting = [
        name
        for name, state in states.items()
        if state.state == "suspended" and standings[name].refused_schema and state.readable
    ]
    due = [name for name in waiting if now - standings[name].compared_at >= _COMPARES_EVERY]
    caught_up = []
    for name in due[:_MOST_COMPARED]:
        standings[name] = replace(standings[name], compared_at=now)
        try:
            if fits_again(specs[name], connections):
                caught_up.append(name)
        except PartDownError:
            break  # a look has to end in time
        except FrazilError:
            continue
    return caught_up


def _due(spec: TableSpec, state: TableState, now: float) -> Due | None:
    if not state.readable or state.state in BLOCKED:
        return None
    size = int(state.readable * (state.bytes_per_record or GUESS))
    age = now - state.landed_at if state.landed_at else float("inf")
    every = state.land_interval.every if state.land_interval else spec.interval.total_seconds()
    reason = _reason(spec, state.readable, size, age, every)
    if not reason:
        return None
    return Due(spec, state.identifier, state.readable, size, age, reason, state.position, every)


def _reason(spec: TableSpec, records: int, size: int, age: float, every: float) -> str:
    when = spec.land_when
    if records >= when.records:
        return f"records waiting: {records}, {when.records} are enough"
    if size >= when.bytes:
        return f"bytes waiting: about {size}, {int(when.bytes)} are enough"
    if age >= every:
        since = "never landed" if age == float("inf") else f"last landing {age:.0f} s ago"
        return f"records waiting: {records}, {since}"
    return ""
