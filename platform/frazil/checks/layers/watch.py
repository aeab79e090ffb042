"""Looks again and again whether targets show tables as they are; a table at rest costs its pointer.

A table is compared in full where something is odd: a target stands still while the table has moved on, its
columns or labels are others, or it was not in step when it was compared last. Snowflake, which has no cheap
way to ask for many tables, is asked for some of them in turn: a hundred cost as many statements as one.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from frazil.checks.targets.drift import Drift
from frazil.checks.targets.finding import find_drift
from frazil.connections import Connections, apart
from frazil.errors import FrazilError
from frazil.publishing.columns import Column
from frazil.publishing.labels import Labels
from frazil.publishing.reading import Seen, is_listed, read_all
from frazil.publishing.target import Target
from frazil.publishing.targets import targets_of
from frazil.spec.names import AssetPath, TableName, things
from frazil.spec.table import AnyTable
from frazil.tables.catalogs.catalog import catalog_errors, is_outage
from frazil.tables.catalogs.pointers import load_pointers

MOST = 100
"""Tables that one look compares in full."""

TURN = 100
"""Tables of which one look in a while asks all targets, though nothing is odd."""

TURN_EVERY = 300.0
"""Seconds between two such looks."""

PATIENCE = 180.0
"""Seconds that a target has to follow its table, where no limit of the table is shorter."""

_Listed = tuple[tuple[Column, ...] | None, Labels | None]
"""The columns and the labels of an entry."""

_Entry = tuple[str | None, _Listed]
"""The metadata that a target shows, None where it has no such table; and what it lists by itself."""

_NOTHING: _Listed = (None, None)

_Errors = dict[str, list[FrazilError]]


@dataclass(frozen=True, slots=True)
class Look:
    """What one look found.

    Args:
        drifts: Tables that were compared in full, in each of their targets.
        silent: By the word of a target why it does not tell of some tables, and of how many.
        answered: The words of those that told of a table.
        looked_at: How many tables there are.
        waiting: How many of them the next look must compare.
    """

    drifts: Sequence[Drift]
    silent: Mapping[str, tuple[FrazilError, int]]
    answered: frozenset[str]
    looked_at: int
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class _State:
    """A table's own metadata, and what its targets show."""

    head: str | None
    entries: Mapping[AssetPath, _Entry]


@dataclass
class Watch:
    """One who looks, and remembers."""

    clock: Callable[[], float] = time.time
    _heads: dict[TableName, str | None] = field(default_factory=dict)
    _apart: dict[AssetPath, tuple[str | None, float]] = field(default_factory=dict)  # since when, at what
    _rests: dict[TableName, _State] = field(default_factory=dict)  # as they were in step
    _compared: dict[TableName, float] = field(default_factory=dict)
    _turned: float = 0.0

    def look(self, specs: Iterable[AnyTable], connections: Connections) -> Look:
        """One look at all tables that are shown anywhere.

        Raises:
            FrazilError: The catalog does not answer.
        """
        now, shown = self.clock(), [spec for spec in specs if spec.publish]
        turn = TURN if now - self._turned >= TURN_EVERY else 0
        self._turned = now if turn else self._turned
        drifts: list[Drift] = []
        errors: _Errors = defaultdict(list)
        answered, waiting = set[str](), 0
        for own, clients in apart(shown, connections):
            names = {things(spec, clients.settings).table: spec for spec in own}
            states = self._states(names, clients, now, errors)
            answered |= {path[0] for state in states.values() for path in state.entries}
            odd = self._odd(names, states, clients, now, turn)
            few = odd[: max(0, MOST - len(drifts))]
            waiting += len(odd) - len(few)
            drifts += self._in_full(few, names, states, clients, now)
        return _look(drifts, errors, answered, len(shown), waiting)

    def _states(
        self, names: Mapping[TableName, AnyTable], clients: Connections, now: float, errors: _Errors
    ) -> dict[TableName, _State]:
        """The tables of which the catalog and the targets that list tell."""
        self._heads |= _heads(names, clients, self._heads)
        listed = {n: _listed(spec, clients) for n, spec in names.items()}
        seen = read_all([target for of in listed.values() for target in of], clients)
        states: dict[TableName, _State] = {}
        for name, targets in listed.items():
            faults = {t.word: e for t in targets if isinstance(e := seen[t.path], FrazilError)}
            for word, error in faults.items():
                errors[word].append(error)
            if not faults:
                states[name] = _State(self._heads.get(name), {t.path: _entry(seen[t.path]) for t in targets})
                self._note(states[name], now)
        return states

    def _note(self, state: _State, now: float) -> None:
        """Since when each entry stands still beside a table that has moved on."""
        for path, (location, _) in state.entries.items():
            if location == state.head:
                self._apart.pop(path, None)
            elif self._apart.get(path, ("", 0.0))[0] != location:
                self._apart[path] = location, now

    def _odd(
        self,
        names: Mapping[TableName, AnyTable],
        states: Mapping[TableName, _State],
        clients: Connections,
        now: float,
        turn: int,
    ) -> list[TableName]:
        """The tables to be compared in full, those first that were for the longest time not."""
        odd = {n for n, state in states.items() if self._is_odd(n, state, now - patience_of(names[n]))}
        unlisted = [n for n in states if n not in odd and len(names[n].publish) > len(states[n].entries)]
        odd |= set(sorted(unlisted, key=self._last)[: max(0, min(turn, MOST - len(odd)))])
        return sorted(odd, key=self._last)

    def _is_odd(self, name: TableName, state: _State, before: float) -> bool:
        rest = self._rests.get(name)
        if state.head is None:
            return any(location for location, _ in state.entries.values())
        if rest is None:
            return True
        return state != rest and any(
            self._apart[path][1] <= before if location != state.head else listed != _in(rest, path)
            for path, (location, listed) in state.entries.items()
        )

    def _in_full(
        self,
        odd: Sequence[TableName],
        names: Mapping[TableName, AnyTable],
        states: Mapping[TableName, _State],
        clients: Connections,
        now: float,
    ) -> list[Drift]:
        drifts = find_drift([names[name] for name in odd], clients, now)
        differ = {drift.table for drift in drifts if drift.differs}
        for name in odd:
            self._compared[name] = now
            if str(name) in differ:
                self._rests.pop(name, None)
            else:
                self._rests[name] = states[name]
        return drifts

    def _last(self, name: TableName) -> float:
        return self._compared.get(name, 0.0)


def _look(drifts: Sequence[Drift], errors: _Errors, answered: set[str], looked_at: int, waiting: int) -> Look:
    for drift in drifts:
        if drift.error and drift.state in ("down", "refused"):
            errors[drift.target].append(drift.error)
        else:
            answered.add(drift.target)
    silent = {word: (of[0], len(of)) for word, of in errors.items()}
    return Look(drifts, silent, frozenset(answered), looked_at, waiting)


def patience_of(spec: AnyTable) -> float:
    """Seconds that the targets of a table have to follow it."""
    limits = (
        at for word in spec.publish if (of := spec.fresh_within.get(word)) for at in (of.warn, of.error)
    )
    return min([PATIENCE, *(at.total_seconds() for at in limits if at is not None)])


def _heads(
    names: Iterable[TableName], clients: Connections, known: Mapping[TableName, str | None]
) -> Iterator[tuple[TableName, str | None]]:
    """Where the tables stand, but for those whose metadata is broken."""
    with catalog_errors(clients.settings):
        for pointer in load_pointers(clients.catalog, names, {n: at for n, at in known.items() if at}):
            if pointer.error and is_outage(pointer.error):
                raise pointer.error
            if not pointer.error:
                yield pointer.name, pointer.location


def _listed(spec: AnyTable, clients: Connections) -> list[Target]:
    return [target for target in targets_of(spec, clients.settings) if is_listed(target)]


def _entry(seen: Seen) -> _Entry:
    if seen is None or isinstance(seen, FrazilError):
        return None, _NOTHING
    return seen.metadata_location, (seen.columns, seen.labels)


def _in(rest: _State, path: AssetPath) -> _Listed:
    return rest.entries.get(path, (None, _NOTHING))[1]
