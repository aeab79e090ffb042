"""Of a table that has a row per key: which record each row has to be of, by a dictionary over the raw bytes.

Nothing is decoded: of each key of Kafka's the newest record counts, and one without a value leaves no row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from confluent_kafka import Consumer, Message, TopicPartition

from frazil.kafka.clients import client_config
from frazil.settings.profile import Settings
from kit.runs.waiting import PATIENCE

__all__ = ["Place", "newest_places", "records_before"]

Place = tuple[int, int]
"""Partition and offset."""


def records_before(settings: Settings, topic: str, ends: Mapping[int, int]) -> Iterator[Message]:
    """The records of a topic that were committed, up to an offset of each partition, each in order."""
    own = {"group.id": "tests", "isolation.level": "read_committed", "enable.auto.commit": False}
    consumer = Consumer({**client_config(settings), **own, "enable.partition.eof": False})
    try:
        for partition, end in ends.items():
            place = TopicPartition(topic, partition)
            first, _ = consumer.get_watermark_offsets(place, PATIENCE)
            consumer.assign([TopicPartition(topic, partition, first)])
            while consumer.position([place])[0].offset < end and first < end:
                message = consumer.poll(0.2)
                if message is None:
                    continue
                assert message.error() is None, message.error()
                if message.offset() >= end:
                    break
                yield message
    finally:
        consumer.close()


def newest_places(settings: Settings, topic: str, ends: Mapping[int, int]) -> set[Place] | None:
    """Where the newest records with a value are, one a key; None where a key is in several partitions.

    Which record of these counts follows from more than their places.
    """
    newest: dict[bytes | None, tuple[Place, bool]] = {}
    for message in records_before(settings, topic, ends):
        place = (message.partition() or 0, message.offset() or 0)
        before = newest.get(message.key())
        if before and before[0][0] != place[0]:
            return None
        newest[message.key()] = place, message.value() is not None
    return {place for place, stays in newest.values() if stays}
