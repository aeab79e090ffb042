"""Some records of a topic, from both ends of its partitions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from confluent_kafka import Message

from frazil.formats.wires.naming import schema_headers
from frazil.kafka.facts import TopicFacts
from frazil.kafka.probe import headers_of, open_probe
from frazil.settings.profile import Settings

_PARTITIONS = 8
"""How many partitions of a topic are looked into."""

_RECORDS = 150
"""How many offsets are looked at on either end, shared by the partitions."""

_BYTES = 4 * 2**20
"""How much of either end is read at most."""

_FETCH = {"fetch.message.max.bytes": 2**18, "queued.min.messages": _RECORDS, "fetch.wait.max.ms": 10}

_DAY = 86_400_000  # milliseconds
_HOUR = _DAY / 24


@dataclass(frozen=True, slots=True)
class Sample:
    """Some records of a topic, in the order of their partitions and offsets."""

    keys: tuple[bytes | None, ...] = ()
    values: tuple[bytes | None, ...] = ()
    times: tuple[int, ...] = ()  # milliseconds
    places: tuple[tuple[int, int], ...] = ()  # partition and offset
    headers: tuple[tuple[tuple[str, bytes | None], ...], ...] = ()  # of each record; empty where none has one

    @property
    def bytes(self) -> float:
        """Mean size of a record, key and value."""
        sizes = [len(part or b"") for part in (*self.keys, *self.values)]
        return sum(sizes) / max(len(self.values), 1)

    @property
    def days(self) -> float | None:
        """From the oldest record to the newest; None where that is less than an hour."""
        span = max(self.times, default=0) - min(self.times, default=0)
        return span / _DAY if span >= _HOUR else None

    def names_schemas(self, half: str) -> bool:
        """Whether a header of some record names the schema of a half."""
        return any(name in schema_headers(half) for name, _ in chain.from_iterable(self.headers))

    def place(self, number: int) -> str:
        """Where a record of the sample stands: partition and offset."""
        return "{}:{}".format(*self.places[number]) if number < len(self.places) else f"number {number + 1}"


def take_sample(settings: Settings, facts: TopicFacts) -> Sample:
    """The records at both ends of a topic's first partitions; few topics need more to be understood."""
    busy = [(p, first, facts.end[p]) for p, first in sorted(facts.first.items()) if first < facts.end[p]]
    with open_probe(settings, facts.topic, **_FETCH) as probe:
        taken: dict[tuple[int, int], Message] = {}
        for spans in _ends(busy[:_PARTITIONS]):
            records, _ = probe.taken(spans, _BYTES)
            taken |= {(m.partition() or 0, m.offset() or 0): m for m in records}
    records = [taken[place] for place in sorted(taken)]
    return Sample(
        tuple(_bytes(m.key()) for m in records),
        tuple(_bytes(m.value()) for m in records),
        tuple(m.timestamp()[1] for m in records),
        tuple(sorted(taken)),
        tuple(map(headers_of, records)),
    )


def _ends(busy: list[tuple[int, int, int]]) -> Iterator[dict[int, tuple[int, int]]]:
    """The spans of the first offsets, and of the last ones where these are others."""
    most = _RECORDS // max(len(busy), 1)
    yield {p: (first, min(first + most, end)) for p, first, end in busy}
    yield {p: (max(end - most, first + most), end) for p, first, end in busy if first + most < end}


def _bytes(part: str | bytes | None) -> bytes | None:
    return part.encode() if isinstance(part, str) else part
