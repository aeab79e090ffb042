"""Chance that goes on where it stopped: what a record holds follows from the seed and its number alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count

from frazil.kafka.clients import admin_client
from frazil.kafka.facts import topic_fact
from frazil.kafka.probe import ONE_RECORD, open_probe
from frazil.settings.profile import Settings
from frazil_local.generators.producer import Headers

Clock = Callable[[], datetime]
"""Returns the time in UTC."""

BLOCK = 1000
"""Records that share a source of chance: one each would cost 10 us a record, more than making it up."""


def utc_now() -> datetime:
    """The time by this machine's clock."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Chance:
    """Where made-up values come from: the same seed gives the same; the clock is for those that say when."""

    seed: int
    clock: Clock = utc_now

    def of(self, *what: str | int) -> random.Random:
        """The dice of one thing, the same whenever they are asked for."""
        return random.Random(":".join(map(str, (self.seed, *what))))

    def blocks(self, name: str, first: int) -> Iterator[tuple[random.Random, int]]:
        """The dice of one block of records after the other, and how many of its records to leave out.

        The first record may lie in the midst of a block.
        """
        for number in count(first // BLOCK):
            yield self.of(name, number), max(0, first - number * BLOCK)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the next records begin: what stands in their headers, and which of a seed's they are."""

    generation: int = 0  # generators that wrote to the topic before
    iteration: int = 0  # records that they wrote

    def headers(self) -> Iterator[Headers]:
        """The headers of one record after the other, as Kafka Connect writes them by default.

        They are longs, but `SimpleHeaderConverter` writes them as decimal text:
        https://github.com/apache/kafka/blob/trunk/connect/api/src/main/java/org/apache/kafka/connect/storage/SimpleHeaderConverter.java
        """
        generation = ("task.generation", b"%d" % self.generation)
        task = ("task.id", b"0")
        for iteration in count(self.iteration):
            yield [generation, task, ("current.iteration", b"%d" % iteration)]


def next_origin(settings: Settings, topic: str) -> Origin:
    """Goes on after the newest records of the topic; at zero where they have no such headers.

    Datagen restores its counters from Connect, this one from the topic.
    """
    facts = topic_fact(admin_client(settings), topic)
    last = {p: end - 1 for p, end in facts.end.items() if end > facts.first[p]}
    if not last:
        return Origin()
    with open_probe(settings, topic, **ONE_RECORD) as probe:
        headers_of_all = [dict(message.headers() or ()) for message in probe.look(last).values()]
    return Origin(
        generation=max(_number(headers.get("task.generation")) + 1 for headers in [{}, *headers_of_all]),
        iteration=max(_number(headers.get("current.iteration")) + 1 for headers in [{}, *headers_of_all]),
    )


def _number(text: bytes | str | None) -> int:
    try:
        return int(text or -1)
    except ValueError:
        return -1
