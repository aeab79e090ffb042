"""Records in Kafka transactions, each with the position that its records make true."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from frazil.derive.feeds.position import FedTo, group_of
from frazil.errors import OvertakenError
from frazil.kafka.clients import client_config, kafka_errors
from frazil.settings.profile import Settings
from frazil.spec.names import TableName

Record = tuple[bytes | None, bytes]
"""Key and value."""

_TIMEOUT = 30.0
_FENCED = frozenset({KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH})
_CONFIG = {
    "compression.type": "lz4",
    "linger.ms": 20,
    "batch.size": 1_000_000,
    "partitioner": "murmur2_random",  # as Java's producers
}


class Transactions:
    """A producer that is the only one of its table: the next one that is opened ends what is open here.

    The consumer joins nothing; it names the group whose position is committed.
    """

    def __init__(self, producer: Producer, consumer: Consumer, topic: str) -> None:
        self._producer, self._consumer, self._topic = producer, consumer, topic

    def commit(self, records: Iterable[Record], to: FedTo, on_sent: Callable[[], None]) -> None:
        """Commits all records with the position that they make true, or nothing.

        `on_sent` is called before anything becomes visible.

        Raises:
            OvertakenError: Another feed of the table goes on where this one was.
            PartDownError: Kafka does not answer; nothing of it is visible.
        """
        with self._errors():
            self._producer.begin_transaction()
            try:
                for key, value in records:
                    self._send(key, value)
                position = TopicPartition(self._topic, 0, to.sent, to.text())
                group = self._consumer.consumer_group_metadata()
                self._producer.send_offsets_to_transaction([position], group, _TIMEOUT)
                on_sent()
                self._producer.commit_transaction(_TIMEOUT)
            except BaseException:
                with suppress(KafkaException):
                    self._producer.abort_transaction(_TIMEOUT)
                raise

    def _send(self, key: bytes | None, value: bytes) -> None:
        while True:
            try:
                self._producer.produce(self._topic, value, key)
                return
            except BufferError:
                self._producer.poll(0.1)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        with kafka_errors(f"topic {self._topic}"):
            try:
                yield
            except KafkaException as e:
                if e.args[0].code() not in _FENCED:
                    raise
                raise OvertakenError(
                    f"Another feed of topic {self._topic} took over.",
                    meaning="Every row is in the topic at most once; the other one goes on.",
                    todo="Nothing. Derive again if the topic lags behind.",
                ) from None


@contextmanager
def transactions(settings: Settings, name: TableName, topic: str) -> Iterator[Transactions]:
    """Opens the table's own producer; what another one left open is aborted, or committed, by then.

    Raises:
        PartDownError: Kafka does not answer.
    """
    config = client_config(settings)
    producer = Producer({**config, **_CONFIG, "transactional.id": f"{group_of(name)}.{topic}"})
    consumer = Consumer({**config, "group.id": group_of(name), "enable.auto.commit": False})
    try:
        with kafka_errors(f"topic {topic}"):
            producer.init_transactions(_TIMEOUT)
        yield Transactions(producer, consumer, topic)
    finally:
        consumer.close()
