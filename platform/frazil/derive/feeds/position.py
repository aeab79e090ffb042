"""How far a table's rows were fed to its topic: with the records in Kafka, and in the table's properties.

Kafka's copy is committed by the transaction that the records belong to: it can't disagree with them. But
Kafka forgets the position of a group that says nothing for a week (`offsets.retention.minutes`); the table's
own copy, written after the transaction, does not go. The later one counts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import stamina

from frazil.derive.ledger import Position
from frazil.spec.names import TableName
from frazil.tables.properties import set_properties

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

__all__ = ["FED", "FedTo", "committed", "group_of", "latest", "note", "noted"]

FED = "frazil.fed"
"""The property, with the topic behind it."""

_TIMEOUT = 10.0


@dataclass(frozen=True, slots=True)
class FedTo:
    """All rows before a snapshot were fed, and so many of its own.

    Args:
        position: The snapshot.
        rows: How many of the rows that it brought, in the order of its files; None: all.
        whole: Whether all rows that it held count as brought: so for the first one that is fed.
        sent: Records fed since the topic's first one.
    """

    position: Position
    rows: int | None = None
    whole: bool = False
    sent: int = 0

    def text(self) -> str:
        """As Kafka and the table keep it."""
        at = self.position
        return json.dumps([at.uuid, at.snapshot, at.sequence, self.rows, self.whole, self.sent])

    @classmethod
    def parse(cls, text: str) -> FedTo:
        """The opposite of `text`."""
        uuid, snapshot, sequence, rows, whole, sent = json.loads(text)
        return cls(Position(uuid, snapshot, sequence), rows, whole, sent)


def group_of(name: TableName) -> str:
    """The consumer group, and the transactional id, that a table feeds under."""
    return f"frazil-feed-{name}"


def committed(admin: AdminClient, name: TableName, topic: str) -> FedTo | None:
    """What Kafka knows; wait for open transactions before (`init_transactions`)."""
    from frazil.kafka.clients import kafka_errors

    with kafka_errors(f"consumer group {group_of(name)}"):
        text = _asked(admin, group_of(name), topic)
    return FedTo.parse(text) if text else None


def noted(table: Table, topic: str) -> FedTo | None:
    """What the table knows."""
    text = table.properties.get(f"{FED}.{topic}")
    return FedTo.parse(text) if text else None


def note(catalog: Catalog, name: TableName, topic: str, fed: FedTo) -> None:
    """Lets the table know; raises as `commit` does."""
    set_properties(catalog, name, {f"{FED}.{topic}": replace(fed, rows=None).text()})


def latest(*known: FedTo | None) -> FedTo | None:
    """The one that is furthest."""
    return max(filter(None, known), key=lambda fed: (fed.sent, fed.position.sequence), default=None)


def _passing(error: Exception) -> bool:
    """What passes within moments: nobody ever asked this broker for a group, or it has just come up."""
    from confluent_kafka import KafkaError, KafkaException

    passing = (
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.NOT_COORDINATOR,
        KafkaError.UNSTABLE_OFFSET_COMMIT,
    )
    return isinstance(error, KafkaException) and error.args[0].code() in passing


@stamina.retry(on=_passing, timeout=10, attempts=50, wait_initial=0.05, wait_jitter=0.05, wait_max=0.5)
def _asked(admin: AdminClient, group: str, topic: str) -> str | None:
    """What was committed beside the offset."""
    from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

    asked = [ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0)])]
    answers = admin.list_consumer_group_offsets(asked, require_stable=True, request_timeout=_TIMEOUT)
    (future,) = answers.values()
    (found,) = future.result().topic_partitions
    metadata: str | None = found.metadata
    return metadata
