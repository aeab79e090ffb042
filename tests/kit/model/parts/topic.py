"""A topic: what it holds now, and what it ever held."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from frazil.kafka.facts import TopicFacts
from frazil.kafka.tally import Tally
from frazil.landing.position.ledger import Span
from frazil.tables.keys import Key

__all__ = ["Record", "Topic"]


@dataclass(frozen=True)
class Record:
    """One record: of which log, where, and whether it can be decoded; its time; an upsert's key and value."""

    log: str
    partition: int
    offset: int
    bad: bool = False
    key: int = 0
    value: int | None = 0
    time: float = 0.0  # seconds since the epoch

    @property
    def at(self) -> tuple[str, int, int]:
        """What tells it from every other one."""
        return self.log, self.partition, self.offset


@dataclass
class Topic:
    """Two partitions under one name.

    `ever` has all records of all logs that had the name. Offsets may hold none: transaction markers.
    """

    log: str = "log1"
    first: dict[int, int] = field(default_factory=lambda: {0: 0, 1: 0})
    end: dict[int, int] = field(default_factory=lambda: {0: 0, 1: 0})
    ever: dict[tuple[str, int, int], Record] = field(default_factory=dict)
    gone: dict[str, dict[int, int]] = field(default_factory=dict)  # by log, what retention took from it
    mended: bool = False  # whether bad records can be decoded by now
    clock: Callable[[], float] = lambda: 0.0

    def produce(
        self, partition: int, *, bad: bool = False, gap: bool = False, key: int = 0, value: int | None = 0
    ) -> None:
        """One offset more."""
        at = self.end[partition]
        self.end[partition] += 1
        if not gap:
            record = Record(self.log, partition, at, bad, key, value, self.clock())
            self.ever[record.at] = record

    def retain(self, partition: int, to: int) -> None:
        """Retention takes what is before an offset."""
        self.first[partition] = max(self.first[partition], min(to, self.end[partition]))
        self.gone.setdefault(self.log, {})[partition] = self.first[partition]

    def begin_anew(self) -> None:
        """Deleted, and recreated."""
        self.gone[self.log] = dict(self.end)
        self.log = f"log{int(self.log.removeprefix('log')) + 1}"
        self.first, self.end = {0: 0, 1: 0}, {0: 0, 1: 0}

    @property
    def facts(self) -> TopicFacts:
        """As the admin API tells."""
        return TopicFacts("t", self.log, dict(self.first), dict(self.end), {0: -1, 1: -1})

    def read(self, spans: Mapping[int, Span]) -> list[Record]:
        """The records of some spans; raises ValueError where offsets are not there."""
        for p, (start, to) in spans.items():
            if start < self.first[p] or to > self.end[p]:
                raise ValueError(f"{p}: {start} to {to} of {self.first[p]} to {self.end[p]}")
        places = ((self.log, p, at) for p, (start, to) in spans.items() for at in range(start, to))
        records = [self.ever[place] for place in places if place in self.ever]
        return [replace(record, bad=False) for record in records] if self.mended else records

    def tally(self, spans: Mapping[int, Span]) -> dict[int, Tally]:
        """What a second reader counts of what is left."""
        left = {p: (max(a, self.first[p]), min(b, self.end[p])) for p, (a, b) in spans.items()}
        return {p: tally_of([r.at[1:] for r in self.read({p: span})]) for p, span in left.items()}


def tally_of(keys: list[Key]) -> Tally:
    """Of records by partition and offset."""
    tallies = (Tally.of(p, np.array([at for q, at in keys if q == p], np.int64)) for p in (0, 1))
    return sum(tallies, Tally())
