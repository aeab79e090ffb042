"""Records without a value at the end of what is read, and between others: tombstones, deletes, markers.

They stop sinks: https://github.com/confluentinc/kafka-connect-storage-cloud/issues/42
"""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.kafka.clients import client_config
from frazil.kafka.facts import topic_fact
from frazil.kafka.probe import open_probe
from frazil.kafka.tally import Tally
from frazil.landing.land import land
from kit.records.topics import MakeTopic, Topic, topic_maker
from kit.records.upserts import upserts
from kit.runs.waiting import PATIENCE, wait_for

MARKER = 1
"""The place that a transaction's end takes."""


@pytest.fixture
def make_topic(connections: Connections, fresh_name: str) -> MakeTopic:
    return topic_maker(connections, fresh_name, "field_reports")


def in_a_transaction(topic: Topic, records: list[tuple[bytes, bytes | None]], *, commit: bool = True) -> None:
    """Produces records as Kafka Streams, Flink, and Debezium with exactly-once do."""
    producer = Producer({**client_config(topic.connections.settings), "transactional.id": topic.name})
    before = topic_fact(topic.connections.admin, topic.name).end[0]
    producer.init_transactions(PATIENCE)
    producer.begin_transaction()
    for key, value in records:
        producer.produce(topic.name, value, key, 0)
    assert producer.flush(PATIENCE) == 0
    producer.commit_transaction(PATIENCE) if commit else producer.abort_transaction(PATIENCE)
    end = before + len(records) + MARKER
    wait_for(lambda: topic_fact(topic.connections.admin, topic.name).end[0] == end)


@pytest.mark.parametrize("value", [None, b""], ids=["null", "empty"])
def test_a_second_reader_counts_records_without_a_value(make_topic: MakeTopic, value: bytes | None) -> None:
    topic = make_topic()
    topic.send([b"x", value, value, b"y", value])

    with open_probe(topic.connections.settings, topic.name) as probe:
        assert probe.tally({0: (0, 5)}) == {0: Tally.of_span(0, 0, 5)}
        assert probe.first({0: 4})[0][0] == 4


def test_deletes_in_one_transaction_land(make_topic: MakeTopic) -> None:
    """Kafka Streams, exactly once: 20 records in one transaction, every second one null."""
    made = upserts(make_topic, partitions=1)
    schema_id = made.topic.register(made.topic.schema)
    records = [(f"k{n}".encode(), made.value(n, schema_id) if n % 2 else None) for n in range(20)]
    in_a_transaction(made.topic, records)

    report = land(made.topic.spec, made.topic.connections)

    assert report.spans == {0: (0, 20 + MARKER)}
    assert made.rows_by_key() == {f"k{n}": n for n in range(1, 20, 2)}


def test_a_topic_that_ends_in_tombstones_behind_gaps_lands(make_topic: MakeTopic) -> None:
    """A compacted topic: its last records are null, and what was aborted before them is a gap."""
    made = upserts(make_topic, partitions=1)
    topic = made.topic
    made.send([("a", 1), ("b", 2)])
    land(topic.spec, topic.connections)
    in_a_transaction(topic, [(b"c", b"never seen")], commit=False)
    made.send([("d", None), ("e", None), ("a", None)], plain="no marker behind them")

    report = land(topic.spec, topic.connections)

    assert (report.records, made.rows_by_key()) == (3, {"b": 2})
    for check in ("row_count", "row_count_deep"):
        assert run_check(check, topic.spec, topic.connections).passed


def test_nulls_of_a_transaction_are_rows_where_the_spec_keeps_them(make_topic: MakeTopic) -> None:
    topic = make_topic(on_null_value="keep")
    in_a_transaction(topic, [(b"a", None), (b"b", None)])

    assert land(topic.spec, topic.connections).records == 2
    assert [(row["$$offset"], row["quantity"]) for row in topic.rows()] == [(0, None), (1, None)]
