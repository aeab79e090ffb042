"""What Kafka and the registry tell, and topics made as a spec says."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from frazil.connections import Connections
from frazil.errors import MissingError, OffsetsLostError, PartDownError
from frazil.kafka.clients import client_config
from frazil.kafka.epochs import leader_epochs, tally_records
from frazil.kafka.facts import topic_fact, topic_facts
from frazil.settings.profile import Settings
from frazil_local.generators.producer import produce
from kit.records.topics import create_topic
from kit.runs.waiting import PATIENCE, wait_for


@pytest.fixture
def topic(connections: Connections, fresh_name: str) -> str:
    """A topic with two partitions."""
    create_topic(connections.admin, fresh_name, 2, {})
    return fresh_name


@pytest.fixture
def transactions(stack: Settings, fresh_name: str) -> Iterator[Producer]:
    """A transactional producer; what it left open is aborted."""
    producer = Producer(
        {"bootstrap.servers": stack.kafka.bootstrap_servers, "transactional.id": fresh_name, "linger.ms": 0}
    )
    producer.init_transactions(30)
    yield producer
    producer.purge()


def fill(settings: Settings, topic: str, count: int, partition: int = 0) -> None:
    produce(settings, topic, ((None, b"x", None, partition, None) for _ in range(count)))


def transaction(producer: Producer, topic: str, count: int, *, commit: bool = True) -> None:
    producer.begin_transaction()
    for _ in range(count):
        producer.produce(topic, b"x", partition=0)
    assert producer.flush(PATIENCE) == 0
    producer.commit_transaction(30) if commit else producer.abort_transaction(30)


def test_facts_of_many_topics_come_at_once_and_leave_out_what_does_not_exist(
    stack: Settings, connections: Connections, topic: str
) -> None:
    fill(stack, topic, 5, partition=1)
    facts = topic_facts(connections.admin, [topic, "no_such_topic"])
    assert set(facts) == {topic}
    assert facts[topic].first == {0: 0, 1: 0}
    assert facts[topic].end == {0: 0, 1: 5}
    assert min(facts[topic].leader_epochs.values()) >= 0


def test_a_topic_made_again_has_another_id(connections: Connections, topic: str) -> None:
    before = topic_fact(connections.admin, topic).topic_id
    for future in connections.admin.delete_topics([topic]).values():
        future.result(PATIENCE)
    create_topic(connections.admin, topic, 2, {})
    assert topic_fact(connections.admin, topic).topic_id != before


def test_the_end_is_the_last_stable_offset_while_a_transaction_is_open(
    connections: Connections, topic: str, transactions: Producer
) -> None:
    transaction(transactions, topic, 3)
    transactions.begin_transaction()
    transactions.produce(topic, b"x", partition=0)
    transactions.flush(PATIENCE)
    assert topic_fact(connections.admin, topic).end[0] == 4
    transactions.abort_transaction(30)
    # The coordinator answers before the partitions have its markers.
    wait_for(lambda: topic_fact(connections.admin, topic).end[0] == 6)


def test_a_topic_that_does_not_exist_is_named_with_the_nearest_that_does(
    connections: Connections, topic: str
) -> None:
    with pytest.raises(MissingError, match=topic):
        topic_fact(connections.admin, topic + "x")


class Limited(AdminClient):
    """Notes how many seconds each question may take."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config)
        self.limits: list[float] = []

    def describe_topics(self, *args: Any, request_timeout: float, **more: Any) -> Any:
        self.limits.append(request_timeout)
        return super().describe_topics(*args, request_timeout=request_timeout, **more)


def test_a_broker_that_is_down_is_told_within_ten_seconds(stack: Settings) -> None:
    admin = Limited(client_config(stack.with_changes(kafka={"bootstrap_servers": "127.0.0.1:1"})))

    with pytest.raises(PartDownError, match="Kafka does not answer"):
        topic_fact(admin, "any")

    assert 0 < sum(admin.limits) <= 10


def test_leader_epochs_are_those_of_the_batches(
    stack: Settings, connections: Connections, topic: str
) -> None:
    fill(stack, topic, 20)
    current = topic_fact(connections.admin, topic).leader_epochs
    expected = {0: [(3, current[0])], 1: []}
    assert leader_epochs(stack, {0: (3, 20), 1: (0, 0)}, topic) == expected
    assert leader_epochs(stack, {0: (3, 20), 1: (0, 0)}, topic, current) == expected


def test_leader_epochs_of_a_span_that_ends_with_markers_are_found(
    stack: Settings, connections: Connections, topic: str, transactions: Producer
) -> None:
    transaction(transactions, topic, 3)
    transaction(transactions, topic, 3, commit=False)
    (epoch,) = {topic_fact(connections.admin, topic).leader_epochs[0]}
    assert leader_epochs(stack, {0: (0, 8)}, topic) == {0: [(0, epoch)]}
    assert leader_epochs(stack, {0: (3, 8)}, topic) == {0: []}, "markers and aborted records only"


def test_counts_tell_records_from_gaps(stack: Settings, topic: str, transactions: Producer) -> None:
    transaction(transactions, topic, 3)
    transaction(transactions, topic, 4, commit=False)
    fill(stack, topic, 2)
    fill(stack, topic, 10, partition=1)
    spans = {0: (0, 11), 1: (2, 9)}
    assert {p: t.count for p, t in tally_records(stack, topic, spans).items()} == {0: 5, 1: 7}
    parts = [tally_records(stack, topic, {0: span})[0].count for span in pairwise(range(12))]
    assert parts == [1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1]


def test_records_that_are_gone_are_an_error_not_a_shorter_answer(
    stack: Settings, connections: Connections, topic: str
) -> None:
    fill(stack, topic, 10)
    for future in connections.admin.delete_records([TopicPartition(topic, 0, 5)]).values():
        future.result(PATIENCE)
    with pytest.raises(OffsetsLostError, match=topic):
        tally_records(stack, topic, {0: (0, 10)})
