"""Records that are far larger than others: their landing ends and says why, and Spark goes on."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from frazil.connections import Connections
from frazil.errors import RepairError
from frazil.kafka.clients import client_config
from frazil.landing.land import land
from kit.topics import MakeTopic, Topic, topic_maker
from kit.waiting import PATIENCE

MB = 2**20


@pytest.fixture
def make_topic(connections: Connections, fresh_name: str) -> MakeTopic:
    return topic_maker(connections, fresh_name, "field_reports")


def send(topic: Topic, *values: bytes) -> None:
    size = {"message.max.bytes": 100 * MB, "queue.buffering.max.kbytes": 200 * 1024}
    producer = Producer({**client_config(topic.connections.settings), **size})
    for value in values:
        producer.produce(topic.name, value, b"ZTEST", 0)
    assert producer.flush(PATIENCE) == 0


def test_a_record_of_sixty_megabytes_ends_its_own_landing_and_not_spark(make_topic: MakeTopic) -> None:
    config = {"max.message.bytes": str(70 * MB)}
    large, other = make_topic(config=config), make_topic()
    large.trades(2)
    value = large.encode({"side": "BUY", "quantity": 2, "symbol": "Z" * 60 * MB})
    send(large, value)
    other.trades(3)

    with pytest.raises(RepairError, match="bytes in its key or its value") as told:
        land(large.spec, large.connections)
    report = land(other.spec, other.connections)

    assert "partition 0, offset 2" in told.value.where
    assert f"{len(value):,} bytes" in told.value.what
    assert "FRAZIL_SPARK__MAX_RECORD_BYTES" in told.value.todo
    assert report.records == 3


def test_a_record_of_twenty_megabytes_lands(make_topic: MakeTopic) -> None:
    topic = make_topic(config={"max.message.bytes": str(70 * MB)}, value_format="string")
    send(topic, b"Z" * 20 * MB, b"small")

    land(topic.spec, topic.connections)

    assert [len(row["value"]) for row in topic.rows()] == [20 * MB, 5]
