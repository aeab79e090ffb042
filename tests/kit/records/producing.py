"""Records as real producers send them: with headers, in transactions, beside others that were aborted.

Debezium, Kafka Streams and Flink do all of it; each of these alone hid a fault once. Of records that were
aborted nobody may see anything: among them are null values, and such as nobody can decode.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from frazil.kafka.clients import client_config, is_passing
from frazil.settings.profile import Settings
from kit.runs.waiting import PATIENCE, wait_for

__all__ = ["BESIDE", "HEADERS", "Sent", "is_stable", "plainly", "send"]

Sent = tuple[bytes | None, bytes | None, int]
"""Key, value and partition."""

HEADERS: list[tuple[str, bytes | None]] = [
    ("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    ("bytes", b"\x00\xff"),
    ("empty", b""),
    ("none", None),
]
"""What each record has, unless a test has others."""

BESIDE = 5
"""Offsets that a partition has more than records each time: three aborted ones, and two markers."""

Aborted = Literal["ahead", "behind"]
"""Of the records; `behind`: a topic's first ones have the offsets from 0 on."""

_PLAIN: list[str] = []


@contextmanager
def plainly(why: str) -> Iterator[None]:
    """Records are sent in no transaction, and beside no others; see `pytest.mark.plain`."""
    _PLAIN.append(why)
    try:
        yield
    finally:
        _PLAIN.pop()


def send(
    settings: Settings,
    topic: str,
    records: Iterable[Sent],
    *,
    plain: str = "",
    aborted: Aborted = "behind",
    **more: Any,
) -> None:
    """Sends records with headers, in a transaction beside one that is aborted.

    Args:
        plain: Why a test wants neither, if it does: each offset of the topic has a record then.
        aborted: Where the others stand.
        more: For each record: `headers`, `timestamp`.

    Raises:
        KafkaException: The broker refused a record.
    """
    sent = list(records)
    if plain or _PLAIN:
        _send_plainly(settings, topic, sent, **more)
    elif sent:
        _send_in_transactions(settings, topic, sent, aborted, **more)


def _send_plainly(settings: Settings, topic: str, records: Sequence[Sent], **more: Any) -> None:
    failed: list[KafkaError] = []
    producer = Producer({**client_config(settings), "linger.ms": 5})
    _hand_over(producer, topic, records, failed, **more)
    assert producer.flush(PATIENCE) == 0
    _raise(failed)


def _send_in_transactions(
    settings: Settings, topic: str, records: Sequence[Sent], aborted: Aborted, **more: Any
) -> None:
    partitions = sorted({partition for _, _, partition in records})
    others = [each for p in partitions for each in _aborted(records, p)]
    with _clients(settings) as clients:
        for each in (clients.producer, clients.other):
            each.list_topics(topic, timeout=PATIENCE)  # it may have more partitions by now
        if aborted == "ahead":
            _abort(clients.other, topic, others)
        _commit(clients.producer, topic, records, **more)
        if aborted == "behind":
            _abort(clients.other, topic, others)
        wait_for(lambda: is_stable(clients.admin, topic, partitions))


def _commit(producer: Producer, topic: str, records: Sequence[Sent], **more: Any) -> None:
    failed: list[KafkaError] = []
    producer.begin_transaction()
    _hand_over(producer, topic, records, failed, **more)
    producer.commit_transaction(PATIENCE)
    _raise(failed)


def _abort(producer: Producer, topic: str, records: Sequence[Sent]) -> None:
    failed: list[KafkaError] = []
    producer.begin_transaction()
    _hand_over(producer, topic, records, failed)
    assert producer.flush(PATIENCE) == 0
    producer.abort_transaction(PATIENCE)
    _raise(failed)


def _aborted(records: Sequence[Sent], partition: int) -> Iterable[Sent]:
    """The first record of a partition once more, its end, and what nobody can decode."""
    key, value, _ = next(record for record in records if record[2] == partition)
    return (key, value, partition), (key, None, partition), (key, b"\x00nobody", partition)


def is_stable(admin: AdminClient, topic: str, partitions: Iterable[int]) -> bool:
    """Whether no transaction is open any more: the broker writes the end of one a bit later."""
    asked = {TopicPartition(topic, p): OffsetSpec.latest() for p in partitions}
    ends = []
    try:
        for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED):
            answers = admin.list_offsets(asked, isolation_level=level) if asked else {}
            ends.append([answers[place].result(PATIENCE).offset for place in asked])
    except KafkaException as e:
        if not is_passing(e):  # as where the broker was started again since this client asked last
            raise
        admin.list_topics(topic, timeout=PATIENCE)  # its leader has another epoch now
        return False
    return ends[0] == ends[1]


@dataclass(frozen=True)
class _Clients:
    """Whose transactions are committed, whose are aborted, and who asks whether they have ended."""

    producer: Producer
    other: Producer
    admin: AdminClient


_OPEN: dict[int, _Clients] = {}
"""A process' own, by Kafka: the beginning of a transactional producer takes a while."""

_LOCK = threading.Lock()


@contextmanager
def _clients(settings: Settings) -> Iterator[_Clients]:
    """The clients at a Kafka, for one caller at a time; those whose transaction failed are not used again."""
    config = client_config(settings)
    key = hash(repr(config))  # which may hold a password
    with _LOCK:
        clients = _OPEN.pop(key, None) or _Clients(
            _producer(config), _producer(config), AdminClient(dict(config))
        )
        yield clients
        _OPEN[key] = clients


def _producer(config: Mapping[str, Any]) -> Producer:
    own = {"transactional.id": f"tests-{uuid.uuid4().hex}", "linger.ms": 5}
    producer = Producer({**config, **own})
    producer.init_transactions(PATIENCE)
    return producer


def _hand_over(
    producer: Producer, topic: str, records: Iterable[Sent], failed: list[KafkaError], **more: Any
) -> None:
    options = {"headers": HEADERS, "on_delivery": _into(failed), **more}
    for key, value, partition in records:
        while True:
            try:
                producer.produce(topic, value, key, partition, **options)
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
