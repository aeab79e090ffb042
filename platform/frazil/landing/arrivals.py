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
from frazil.kafka.facts import TopicFacts, known_facts
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
    now = clock()
    topics, refused = known_facts(connections.admin, {spec.topic for spec in specs})
    every = {things(spec, connections.settings).table: spec for spec in specs}
    names = {name: spec for name, spec in every.items() if spec.topic not in refused}
    standings: Standings = {} if memory is None else memory
    look = _Look(names, connections, standings, topics, now, remembers=memory is not None)
    seen = look.states(names, forks=False)
    asked = look.ask(list(names) if memory is None else look.wanted(seen, in_turn=in_turn)[:most])
    seen = {name: state for name, state in (seen | asked).items() if name not in look.failed}
    untold = {name: refused[spec.topic] for name, spec in every.items() if name not in names}
    return Arrivals(
        due=tuple(due for name, state in asked.items() if (due := _due(names[name], state, now))),
        seen=tuple((spec, seen[name]) for name, spec in names.items() if name in seen),
        unknown=len(names) - len(seen) - len(look.failed),
        failed={str(name): error.what for name, error in (untold | look.failed).items()},
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


@dataclass
class _Look:
    """One look at tables whose topics are known.

    Args:
        names: The tables, and their specs.
        standings: Where tables stood when they were last asked for.
        topics: The facts of their topics.
        remembers: Whether the standings are those of earlier looks, too.
        failed: The tables that can't be read, and why.
    """

    names: Mapping[TableName, TableSpec]
    connections: Connections
    standings: Standings
    topics: dict[str, TopicFacts]
    now: float
    remembers: bool
    failed: dict[TableName, FrazilError] = field(default_factory=dict)

    def states(self, of: Iterable[TableName], *, forks: bool) -> dict[TableName, TableState]:
        """How tables stand whose standing is known."""
        known = {}
        for name in of:
            if (table := self.standings.get(name)) is not None:
                try:
                    known[name] = state_of(
                        self.names[name], name, table, self.topics, self.connections.settings, self.now,
                        forks=forks, again=self.remembers,
                    )  # fmt: skip
                except FrazilError as e:
                    self.failed[name] = e
        return known

    def wanted(self, seen: Mapping[TableName, TableState], *, in_turn: bool) -> list[TableName]:
        """The tables to ask for: those that are not known, a few in turn, and those that may be due."""
        longest_ago = [name for name in self.standings if name in self.names]
        turn = longest_ago[: len(self.names) // _LOOKS + 1] if in_turn else []
        new = [name for name in self.names if name not in self.standings]
        due = [name for name in longest_ago if self._seems_due(name, seen.get(name))]
        return list(dict.fromkeys((*new, *turn, *due)))

    def _seems_due(self, name: TableName, state: TableState | None) -> bool:
        """Also where its standing tells nothing."""
        return state is None or state.state in BLOCKED or _due(self.names[name], state, self.now) is not None

    def ask(self, wanted: Sequence[TableName]) -> dict[TableName, TableState]:
        """How tables stand that are asked for now.

        Raises:
            PartDownError: None of them can be read.
        """
        specs = {name: self.names[name] for name in wanted}
        self.failed |= ask_tables(specs, self.connections, self.standings)
        asked = self.states(wanted, forks=True)
        if any(state.state == "topic changed" for state in asked.values()):
            again, _ = known_facts(self.connections.admin, self.topics)  # a landing was quicker
            self.topics |= again
            asked = self.states(wanted, forks=True)
        if len(self.failed) == len(wanted):
            raise_first(self.failed.values())
        return asked | {name: replace(asked[name], state="behind", reason="") for name in self._mended(asked)}

    def _mended(self, states: Mapping[TableName, TableState]) -> list[TableName]:
        """Tables that a refused schema suspends, whose records wait, and whose newest schema fits again."""
        waiting = [
            name
            for name, state in states.items()
            if state.state == "suspended" and self.standings[name].refused_schema and state.readable
        ]
        due = [n for n in waiting if self.now - self.standings[n].compared_at >= _COMPARES_EVERY]
        caught_up = []
        for name in due[:_MOST_COMPARED]:
            self.standings[name] = replace(self.standings[name], compared_at=self.now)
            try:
                if fits_again(self.names[name], self.connections):
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
