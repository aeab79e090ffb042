"""Records as real producers send them: with headers, in transactions, beside others that were aborted.

Debezium, Kafka Streams and Flink do all of it; each of these alone hid a fault once. Of records that were
aborted nobody may see anything: among them are null values, and such as nobody can decode.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from frazil.kafka.clients import client_config
from frazil.settings.profile import Settings
from kit.waiting import PATIENCE, wait_for

__all__ = ["HEADERS", "Sent", "is_stable", "send", "send_in_transactions"]

Sent = tuple[bytes | None, bytes | None, int]
"""Key, value and partition."""

HEADERS: list[tuple[str, bytes | None]] = [
    ("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    ("bytes", b"\x00\xff"),
    ("empty", b""),
    ("none", None),
]
"""What each record has, unless a test has others."""


def send(settings: Settings, topic: str, records: Iterable[Sent], **more: Any) -> None:
    """Sends records with headers, without a transaction; raises what the broker refused."""
    failed: list[KafkaError] = []
    producer = Producer({**client_config(settings), "linger.ms": 5, "on_delivery": _into(failed)})
    _hand_over(producer, topic, records, **more)
    assert producer.flush(PATIENCE) == 0
    _raise(failed)


def send_in_transactions(settings: Settings, topic: str, records: Sequence[Sent], **more: Any) -> None:
    """Sends records in a transaction, behind one that was aborted.

    A partition has five offsets more than records then: three aborted ones, and two markers.
    """
    failed: list[KafkaError] = []
    own = {"transactional.id": f"tests-{uuid.uuid4().hex}", "linger.ms": 5, "on_delivery": _into(failed)}
    producer = Producer({**client_config(settings), **own})
    producer.init_transactions(PATIENCE)
    producer.begin_transaction()
    partitions = sorted({partition for _, _, partition in records})
    _hand_over(producer, topic, (each for p in partitions for each in _aborted(records, p)))
    assert producer.flush(PATIENCE) == 0
    producer.abort_transaction(PATIENCE)
    producer.begin_transaction()
    _hand_over(producer, topic, records, **more)
    producer.commit_transaction(PATIENCE)
    _raise(failed)
    admin = AdminClient(client_config(settings))
    wait_for(lambda: is_stable(admin, topic, partitions))


def is_stable(admin: AdminClient, topic: str, partitions: Iterable[int]) -> bool:
    """Whether no transaction is open any more: the broker writes the end of one a bit later."""
    asked = {TopicPartition(topic, p): OffsetSpec.latest() for p in partitions}
    ends = []
    for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED):
        answers = admin.list_offsets(asked, isolation_level=level) if asked else {}
        ends.append([answers[place].result(PATIENCE).offset for place in asked])
    return ends[0] == ends[1]


def _aborted(records: Sequence[Sent], partition: int) -> Iterable[Sent]:
    """The first record of a partition once more, its end, and what nobody can decode."""
    key, value, _ = next(record for record in records if record[2] == partition)
    return (key, value, partition), (key, None, partition), (key, b"\x00nobody", partition)


def _hand_over(producer: Producer, topic: str, records: Iterable[Sent], **more: Any) -> None:
    told = {"headers": HEADERS, **more}
    for key, value, partition in records:
        while True:
            try:
                producer.produce(topic, value, key, partition, **told)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)


def _into(failed: list[KafkaError]) -> Any:
    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failed.append(error)

    return delivered


def _raise(failed: Sequence[KafkaError]) -> None:
    if failed:
        raise KafkaException(failed[0])
