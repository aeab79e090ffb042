"""Moments that people's producers send by mistake, or on purpose."""

from __future__ import annotations

import json

from kit.formats.formats import MakeSource

MICROSECONDS = 1_795_612_753_273_000
"""A moment of 2026, in the unit that Kafka does not expect."""

ANY_TIME = {"message.timestamp.after.max.ms": str(2**63 - 1), "retention.ms": "-1"}
"""As before Kafka 4, which refuses records from the future by default."""


def test_a_record_whose_own_time_is_in_microseconds_lands(source: MakeSource) -> None:
    """https://github.com/fede1024/rust-rdkafka/issues/217: CreateTime is sent in microseconds by mistake."""
    topic = source(config=ANY_TIME, key_format="none")
    schema = {"title": "Reading", "type": "object", "properties": {"n": {"type": "integer"}}}
    schema_id = topic.register(schema, kind="JSON")
    value = b"\0" + schema_id.to_bytes(4, "big") + json.dumps({"n": 1}).encode()
    topic.produce((None, value), timestamp=MICROSECONDS)

    assert topic.land().records == 1
    assert topic.raw("n") == [1]
    assert topic.raw("$$timestamp") == [MICROSECONDS * 1000]
