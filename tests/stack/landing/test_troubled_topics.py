"""Topics that lose, hide or change what they held."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import NewPartitions

from frazil.checks.run import run_check
from frazil.errors import OffsetsLostError, TopicChangedError
from frazil.kafka.facts import topic_fact
from frazil.landing.land import land
from kit.topics import Topic, create_topic
from kit.waiting import PATIENCE, wait_for


def test_records_that_retention_took_are_named_and_nothing_is_landed(topic: Topic) -> None:
    topic.trades(5)
    land(topic.spec, topic.connections)
    topic.trades(10)
    topic.delete_records_before(9)

    with pytest.raises(OffsetsLostError, match=r"partition 0: \[5, 9\)"):
        land(topic.spec, topic.connections)
    assert len(topic.rows()) == 5


def test_a_first_landing_begins_where_the_topic_begins(topic: Topic) -> None:
    topic.trades(6)
    topic.delete_records_before(4)

    assert land(topic.spec, topic.connections).spans == {0: (4, 6)}
    assert run_check("row_count_deep", topic.spec, topic.connections).passed


def test_a_recreated_topic_is_recognised_by_its_id(topic: Topic) -> None:
    topic.trades(5)
    land(topic.spec, topic.connections)
    for future in topic.connections.admin.delete_topics([topic.name], operation_timeout=30).values():
        future.result(PATIENCE)
    create_topic(topic.connections.admin, topic.name, 1, {})
    topic.trades(7)

    with pytest.raises(TopicChangedError, match="deleted and made again"):
        land(topic.spec, topic.connections)
    assert len(topic.rows()) == 5


def test_new_partitions_are_landed_from_their_first_offset(topic: Topic) -> None:
    topic.trades(5)
    land(topic.spec, topic.connections)
    for future in topic.connections.admin.create_partitions([NewPartitions(topic.name, 3)]).values():
        future.result(PATIENCE)
    topic.trades(2, partition=2)

    assert land(topic.spec, topic.connections).spans == {2: (0, 2)}
    assert run_check("row_count_deep", topic.spec, topic.connections).passed


def transactional(topic: Topic) -> Producer:
    servers = topic.connections.settings.bootstrap_servers
    producer = Producer({"bootstrap.servers": servers, "transactional.id": topic.name})
    producer.init_transactions(30)
    return producer


def test_aborted_records_and_markers_are_known_gaps_and_open_transactions_wait(topic: Topic) -> None:
    producer, value = transactional(topic), topic.encode({"side": "BUY", "quantity": 1, "symbol": "Z"})
    for end in (producer.commit_transaction, producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        for _ in range(3):
            producer.produce(topic.name, value, partition=0)
        producer.flush(PATIENCE)  # or an abort would drop what was not sent yet
        end(30)
    producer.begin_transaction()
    producer.produce(topic.name, value, partition=0)
    producer.flush(PATIENCE)
    wait_for(lambda: topic_fact(topic.connections.admin, topic.name).end == {0: 12})

    report = land(topic.spec, topic.connections)
    producer.abort_transaction(30)

    assert (report.records, report.gaps, report.spans) == (6, 6, {0: (0, 12)})
    assert run_check("row_count", topic.spec, topic.connections).passed
    assert run_check("row_count_deep", topic.spec, topic.connections).passed
    wait_for(lambda: topic_fact(topic.connections.admin, topic.name).end == {0: 14})
    only_gaps = land(topic.spec, topic.connections)
    assert (only_gaps.records, only_gaps.gaps) == (0, 2)
