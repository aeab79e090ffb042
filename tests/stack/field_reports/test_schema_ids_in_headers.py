"""A schema that a header names: such a payload has no prefix, and its first bytes may look like one.

https://github.com/confluentinc/confluent-kafka-python/issues/1978
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema

from frazil.connections import Connections
from frazil.landing.land import land
from kit.records.producing import BESIDE
from kit.records.topics import MakeTopic, Topic, topic_maker

KEYS, VALUES = "__key_schema_id", "__value_schema_id"
GUID = b"\x01" + bytes(range(16))
JSON = json.dumps({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
AVRO = json.dumps({"type": "record", "name": "M", "fields": [{"name": "n", "type": "int"}]})
PROTOBUF = 'syntax = "proto3"; message M { int32 n = 1; }'
FORMATS = {"AVRO": (AVRO, b"\x02"), "JSON": (JSON, b'{"n": 1}'), "PROTOBUF": (PROTOBUF, b"\0\x08\x01")}
"""A schema of each, and a payload that says 1."""


@pytest.fixture
def make_topic(connections: Connections, fresh_name: str) -> MakeTopic:
    return topic_maker(connections, fresh_name, "field_reports")


def frame(topic: Topic, half: str, text: str, kind: str, payload: bytes) -> bytes:
    schema_id = topic.connections.registry.register_schema(f"{topic.name}-{half}", Schema(text, kind))
    return b"\0" + schema_id.to_bytes(4, "big") + payload


def dead_letters(topic: Topic) -> list[dict[str, Any]]:
    table = topic.connections.catalog.load_table(topic.things.table.dead_letters.identifier)
    return sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["offset"])


@pytest.mark.parametrize("kind", FORMATS)
def test_a_payload_that_looks_like_a_frame_is_not_taken_for_one(make_topic: MakeTopic, kind: str) -> None:
    topic = make_topic(trades=False, on_bad_record="dead_letter", key_format="string")
    value = frame(topic, "value", FORMATS[kind][0], kind, FORMATS[kind][1])
    topic.send_keyed([(b"a", value)])
    topic.send_keyed([(b"b", value)], headers=[("other", b"x"), (VALUES, GUID)])
    topic.send_keyed([(b"c", value)], headers=[(KEYS, GUID), ("other", None)])

    report = land(topic.spec, topic.connections)

    assert (report.records, report.dead_letters) == (2, 1)
    assert [(row["key"], row["n"]) for row in topic.rows()] == [("a", 1), ("c", 1)]
    (letter,) = dead_letters(topic)
    assert (letter["offset"], letter["reason_code"]) == (1 + BESIDE, "schema_header")
    assert VALUES in letter["reason"]


def test_a_key_whose_schema_a_header_names_tells_no_row_apart(make_topic: MakeTopic) -> None:
    topic = make_topic(
        trades=False, on_bad_record="dead_letter", mode="upsert", partition_by=["bucket(2, id)"]
    )
    keys = AVRO.replace('"n"', '"id"')
    key, value = (
        frame(topic, half, text, "AVRO", b"\x02") for half, text in (("key", keys), ("value", AVRO))
    )
    topic.send_keyed([(key, value)])
    topic.send_keyed([(key, None)], headers=[(KEYS, GUID)])

    report = land(topic.spec, topic.connections)

    assert report.dead_letters == 1
    assert [(row["id"], row["n"]) for row in topic.rows()] == [(1, 1)]
    assert [letter["reason_code"] for letter in dead_letters(topic)] == ["key_schema_header"]
