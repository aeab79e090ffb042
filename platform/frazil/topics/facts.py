"""What Kafka's admin API tells about topics: identity, first offsets, last stable offsets."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import stamina
from confluent_kafka import (
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec, TopicDescription

from frazil.errors import MissingError
from frazil.topics.client import kafka_errors

__all__ = ["TopicFacts", "describe", "topic_fact", "topic_facts"]

_GONE = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC)
_ELECTING = frozenset(
    {
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.OFFSET_NOT_AVAILABLE,
    }
)
"""Passes within moments: the topic was just made, or a broker just came or went."""
_FIRST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
_LAST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
_DESCRIBE_SECONDS = 5.0
"""Describing asks for metadata only; a broker that takes longer is down."""


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """A topic at one moment.

    Args:
        topic: Its name.
        topic_id: Its identity; another one after the topic was deleted and made again.
        first: The log start offset of each partition.
        end: The last stable offset of each partition: what read_committed may see, exclusive.
        leader_epochs: The current leader epoch of each partition, -1 where Kafka does not tell.
    """

    topic: str
    topic_id: str
    first: dict[int, int]
    end: dict[int, int]
    leader_epochs: dict[int, int]


def topic_facts(admin: AdminClient, topics: Collection[str], timeout: float = 10.0) -> dict[str, TopicFacts]:
    """The facts of many topics in three requests; topics that do not exist are left out.

    Raises:
        PartDownError: Kafka does not answer.
    """
    found = describe(admin, topics, min(timeout, _DESCRIBE_SECONDS))
    places = [TopicPartition(t, p.id) for t, about in found.items() for p in about.partitions]
    first = _offsets(admin, places, _FIRST, timeout)
    end = _offsets(admin, places, _LAST, timeout)
    return {
        topic: TopicFacts(
            topic=topic,
            topic_id=str(about.topic_id),
            first={p: at for p, (at, _) in first[topic].items()},
            end={p: at for p, (at, _) in end[topic].items()},
            leader_epochs={p: epoch for p, (_, epoch) in end[topic].items()},
        )
        for topic, about in found.items()
        if topic in first and topic in end
    }


def topic_fact(admin: AdminClient, topic: str) -> TopicFacts:
    """The facts of one topic.

    Raises:
        MissingError: It does not exist; the text names it and those of a like name.
        PartDownError: Kafka does not answer.
    """
    found = topic_facts(admin, [topic])
    if topic not in found:
        raise _missing(admin, topic)
    return found[topic]


def describe(
    admin: AdminClient, topics: Iterable[str], timeout: float = _DESCRIBE_SECONDS
) -> dict[str, TopicDescription]:
    """Descriptions of those of the topics that exist.

    Raises:
        PartDownError: Kafka does not answer.
    """
    names = sorted(set(topics))
    if not names:
        return {}
    with kafka_errors("Kafka's admin API"):
        futures = admin.describe_topics(TopicCollection(names), request_timeout=timeout)
        return _present(futures)


def _offsets(
    admin: AdminClient, places: list[TopicPartition], spec: OffsetSpec, timeout: float
) -> dict[str, dict[int, tuple[int, int]]]:
    """Offset and leader epoch by topic and partition; topics deleted meanwhile are left out."""
    if not places:
        return {}
    with kafka_errors("Kafka's admin API"):
        answers = _list_offsets(admin, places, spec, timeout)
    found: dict[str, dict[int, tuple[int, int]]] = {}
    for place, info in answers.items():
        epoch = -1 if info.leader_epoch is None else info.leader_epoch
        found.setdefault(place.topic, {})[place.partition] = (info.offset, epoch)
    gone = {place.topic for place in places if place not in answers}
    return {topic: parts for topic, parts in found.items() if topic not in gone}


@stamina.retry(
    on=lambda e: _code(e) in _ELECTING,
    attempts=20,
    wait_initial=0.05,
    wait_max=0.5,
    wait_jitter=0.05,
    timeout=5,
)
def _list_offsets(
    admin: AdminClient, places: list[TopicPartition], spec: OffsetSpec, timeout: float
) -> dict[TopicPartition, Any]:
    futures = admin.list_offsets(
        dict.fromkeys(places, spec),
        isolation_level=IsolationLevel.READ_COMMITTED,
        request_timeout=timeout,
    )
    return _present(futures)


def _present(futures: Mapping[Any, Future[Any]]) -> dict[Any, Any]:
    """The answers, without those that say that the topic does not exist."""
    answers = {}
    for key, future in futures.items():
        try:
            answers[key] = future.result()
        except KafkaException as e:
            if _code(e) not in _GONE:
                raise
    return answers


def _code(error: Exception) -> int | None:
    return error.args[0].code() if isinstance(error, KafkaException) else None


def _missing(admin: AdminClient, topic: str) -> MissingError:
    with kafka_errors("Kafka's admin API"):
        names = sorted(admin.list_topics(timeout=_DESCRIBE_SECONDS).topics)
    near = get_close_matches(topic, names) or [n for n in names if not n.startswith("_")][:5]
    return MissingError(
        f"Topic {topic} does not exist.",
        where=f"the nearest of {len(names)} topics: {', '.join(near)}" if near else "there is no topic",
        meaning="Nothing was landed.",
        todo="Mend the name, or make the topic.",
    )
