"""Topics to measure with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from confluent_kafka.admin import NewTopic
from confluent_kafka.schema_registry import Schema
from samples import Sample, Trades

from frazil.connections import Connections
from frazil_local.generators.producer import produce

__all__ = ["PARTITIONS", "Place", "add", "one_place", "spread", "topic_of"]

PARTITIONS = 6
Place = Callable[[int], int]


def spread(number: int) -> int:
    """The same number of records in every partition."""
    return number % PARTITIONS


def one_place(_: int) -> int:
    """All records in one of the partitions."""
    return 3


@contextmanager
def topic_of(
    connections: Connections, name: str, sample: Sample | Trades, count: int, place: Place
) -> Iterator[str]:
    """A topic with so many records in it, deleted in the end."""
    wanted = NewTopic(name, PARTITIONS, config={"retention.ms": "-1"})
    for future in connections.admin.create_topics([wanted]).values():
        future.result(30)
    try:
        add(connections, name, sample, count, place)
        yield name
    finally:
        for future in connections.admin.delete_topics([name]).values():
            future.result(30)
        connections.registry.delete_subject(f"{name}-value")


def add(connections: Connections, topic: str, sample: Sample | Trades, count: int, place: Place) -> None:
    """Produces records, each to the partition that `place` gives for its number."""
    records = islice(sample.records(_register(connections, topic, sample)), count)
    placed = (
        (key, value, headers, place(number), None) for number, (key, value, headers, *_) in enumerate(records)
    )
    produce(connections.settings, topic, placed)


def _register(connections: Connections, topic: str, sample: Sample | Trades) -> Sequence[int]:
    kind = sample.kind.upper()
    registry = connections.registry
    return [registry.register_schema(f"{topic}-value", Schema(text, kind)) for text in sample.schemas]
