"""Produces records fast, in order and without doubles, and raises when one did not arrive."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from confluent_kafka import KafkaError, Message, Producer

from frazil.kafka.clients import client_config, kafka_error, kafka_errors
from frazil.settings.profile import Settings

Headers = list[tuple[str, str | bytes | None]]
Record = tuple[bytes | None, bytes | None, Headers | None, int | None, int | None]
"""Key, value, headers, partition (None: by the key's hash), timestamp in milliseconds (None: now)."""

_BATCH = 5_000
_CONFIG = {
    "enable.idempotence": True,
    "compression.type": "lz4",
    "linger.ms": 20,
    "batch.size": 1_000_000,
    "batch.num.messages": 100_000,
    "queue.buffering.max.messages": 500_000,
    "queue.buffering.max.kbytes": 262_144,
    "partitioner": "murmur2_random",  # as Java's producers, Kafka Connect among them
    "message.timeout.ms": 30_000,
    "delivery.report.only.error": True,  # a call of Python per record would halve the speed
}


@dataclass(frozen=True, slots=True)
class Produced:
    """What arrived at the broker: records, and the bytes of their keys and values, uncompressed.

    The time is from the first record to the last acknowledgement.
    """

    records: int
    bytes: int
    seconds: float


def produce(
    settings: Settings,
    topic: str,
    records: Iterable[Record],
    *,
    on_progress: Callable[[int], None] = lambda _: None,
) -> Produced:
    """Produces all records to a topic that exists, and waits until the broker has them.

    `on_progress` is told from time to time how many were handed over. Where Kafka refuses a record, those
    before it may have arrived.
    """
    left = iter(records)
    batches = iter(lambda: list(islice(left, _BATCH)), [])
    return produce_batches(settings, topic, batches, on_progress=on_progress)


def produce_batches(
    settings: Settings,
    topic: str,
    batches: Iterable[Iterable[Record]],
    *,
    on_progress: Callable[[int], None] = lambda _: None,
) -> Produced:
    """As `produce`, for a caller that gives the pace: failures are looked for after each batch."""
    failures: list[KafkaError] = []
    begun, sent, size = time.monotonic(), 0, 0

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failures.append(error)

    with kafka_errors(f"topic {topic}"):
        producer = Producer({**client_config(settings), **_CONFIG, "on_delivery": delivered})
        for batch in batches:
            count, length = _send(producer, topic, batch, failures)
            sent, size = sent + count, size + length
            on_progress(sent)
        while producer.flush(0.5) and not failures:
            pass
    _raise(failures, topic)
    return Produced(sent, size, time.monotonic() - begun)


def _send(
    producer: Producer, topic: str, records: Iterable[Record], failures: list[KafkaError]
) -> tuple[int, int]:
    """Hands records over; returns how many, and how many bytes."""
    count = size = 0
    for key, value, headers, partition, timestamp in records:
        to = -1 if partition is None else partition
        while True:
            try:
                producer.produce(topic, value, key, to, None, None, timestamp or 0, headers)
                break
            except BufferError:
                producer.poll(0.1)
                _raise(failures, topic)
        count += 1
        size += (len(key) if key else 0) + (len(value) if value else 0)
    producer.poll(0)
    _raise(failures, topic)
    return count, size


def _raise(failures: Sequence[KafkaError], topic: str) -> None:
    if failures:
        raise kafka_error(failures[0], f"topic {topic}, {len(failures)} records did not arrive")
