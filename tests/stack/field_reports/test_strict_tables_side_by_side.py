"""Several tables whose decoders run in Spark's Python workers, landed at once in threads.

https://issues.apache.org/jira/browse/SPARK-47986: PySpark looks for an active session in the thread, and
then for the default one.
"""

from __future__ import annotations

import json

import pytest
from confluent_kafka.schema_registry import Schema

from frazil.connections import Connections
from frazil.landing.many import land_many
from frazil.landing.report import LandingReport
from kit.records.topics import MakeTopic, Topic, topic_maker

JSON = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}, "required": ["n"]}
PROTOBUF = 'syntax = "proto3"; message M { int64 n = 1; }'


@pytest.fixture
def make_topic(connections: Connections, fresh_name: str) -> MakeTopic:
    return topic_maker(connections, fresh_name, "field_reports")


def with_records(topic: Topic, text: str, kind: str, *payloads: bytes) -> Topic:
    schema_id = topic.connections.registry.register_schema(f"{topic.name}-value", Schema(text, kind))
    topic.send([b"\0" + schema_id.to_bytes(4, "big") + payload for payload in payloads])
    return topic


@pytest.mark.each_time("JSON")
@pytest.mark.parametrize("kind", ["JSON", "PROTOBUF"])
def test_tables_land_side_by_side(make_topic: MakeTopic, kind: str) -> None:
    if kind == "JSON":
        made = [
            with_records(make_topic(trades=False, validate="strict"), json.dumps(JSON), kind, b'{"n": 1}')
            for _ in range(3)
        ]
    else:
        made = [with_records(make_topic(trades=False), PROTOBUF, kind, b"\0\x08\x01") for _ in range(3)]

    outcomes = list(land_many([topic.spec for topic in made], made[0].connections))

    assert [outcome.records for _, outcome in outcomes if isinstance(outcome, LandingReport)] == [1, 1, 1], (
        outcomes
    )
    assert [[row["n"] for row in topic.rows()] for topic in made] == [[1]] * 3
