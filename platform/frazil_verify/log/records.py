"""The committed records of a topic between two offsets of each partition, by librdkafka."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from confluent_kafka import (
    OFFSET_INVALID,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource

from frazil_verify.findings import UnverifiableError

Span = tuple[int, int]
"""The first offset, and the one after the last."""


class Records(Protocol):
    """The records of a topic, wherever they come from."""

    def kept(self) -> dict[int, Span]:
        """The offsets that each partition still has."""
        ...

    def compacts(self) -> bool:
        """Whether records may be gone behind the first offset that is kept."""
        ...

    def topic_id(self) -> str:
        """The topic's identity: another one after it was deleted and made again."""
        ...

    def records(self, spans: Mapping[int, Span]) -> Iterator[Message]:
        """The records of these offsets; those of a partition come in order."""
        ...


NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""The identity of each topic where brokers give none."""

_AT_ONCE = 5000
_FORBIDDEN = (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED)
_PATIENCE = 120.0  # seconds without a record or an end


@dataclass(frozen=True)
class Log:
    """One topic, as a consumer sees it that reads what is committed."""

    topic: str
    kafka: Mapping[str, str | int | bool]

    def kept(self) -> dict[int, Span]:
        """The offsets that each partition still has."""
        with self._consumer() as consumer:
            known = consumer.list_topics(self.topic, timeout=_PATIENCE).topics[self.topic]
            if known.error is not None:
                raise UnverifiableError(f"topic {self.topic}: {known.error.str()}")
            return {
                number: consumer.get_watermark_offsets(TopicPartition(self.topic, number), timeout=_PATIENCE)
                for number in known.partitions
            }

    def compacts(self) -> bool:
        """Whether the topic's clean-up is compaction; False where that may not be asked."""
        wanted = ConfigResource(ConfigResource.Type.TOPIC, self.topic)
        admin = AdminClient(dict(self.kafka))  # it answers as long as it is there
        (answer,) = admin.describe_configs([wanted]).values()
        try:
            policy = answer.result(_PATIENCE).get("cleanup.policy")
        except KafkaException as e:
            error: KafkaError = e.args[0]
            if error.code() in _FORBIDDEN:
                return False
            raise UnverifiableError(f"topic {self.topic}: {error.str()}") from e
        return policy is not None and "compact" in str(policy.value)

    def topic_id(self) -> str:
        """The topic's identity: another one after it was deleted and made again; `NO_ID` of old brokers."""
        admin = AdminClient(dict(self.kafka))
        (answer,) = admin.describe_topics(TopicCollection([self.topic]), request_timeout=_PATIENCE).values()
        try:
            return str(answer.result(_PATIENCE).topic_id)
        except KafkaException as e:
            raise UnverifiableError(f"topic {self.topic}: {e.args[0].str()}") from e

    def records(self, spans: Mapping[int, Span]) -> Iterator[Message]:
        """The records of these offsets; those of a partition come in order.

        Raises:
            UnverifiableError: The brokers do not answer.
        """
        left = {number: to for number, (start, to) in spans.items() if start < to}
        at_once = min(_AT_ONCE, sum(to - spans[number][0] for number, to in left.items()))
        with self._consumer() as consumer:
            consumer.assign([TopicPartition(self.topic, number, spans[number][0]) for number in left])
            heard = time.monotonic()
            while left:
                for message in consumer.consume(at_once, timeout=1.0):
                    heard = time.monotonic()
                    number = partition_of(message)
                    if number in left and message.error() is None and (message.offset() or 0) < left[number]:
                        yield message
                    if self._is_over(message, left):
                        left.pop(number, None)
                        consumer.incremental_unassign([TopicPartition(self.topic, number, OFFSET_INVALID)])
                if time.monotonic() - heard > _PATIENCE:
                    raise UnverifiableError(f"topic {self.topic}: no record within {_PATIENCE:.0f} s")

    def _is_over(self, message: Message, left: Mapping[int, int]) -> bool:
        error, number = message.error(), partition_of(message)
        if error is not None and error.code() != KafkaError._PARTITION_EOF:
            raise UnverifiableError(f"topic {self.topic}: {error.str()}")
        return number in left and (error is not None or (message.offset() or 0) + 1 >= left[number])

    def _consumer(self) -> Consumer:
        return Consumer(
            {
                **self.kafka,
                "group.id": "frazil-verify",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "auto.offset.reset": "error",
            }
        )


def partition_of(message: Message) -> int:
    """The partition that a message is of, or an end of."""
    number = message.partition()
    assert number is not None
    return number
