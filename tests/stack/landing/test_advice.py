"""What errors tell people to do is done, word by word: it comes out right, and only what it names is lost."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema

from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.errors import SuspendedError
from frazil.landing.halts.resume import resume
from frazil.landing.land import land
from frazil.spec.topic import TableSpec
from kit.records.topics import Topic, create_topic

READING = {
    "type": "object",
    "title": "Reading",
    "properties": {"sensor": {"type": "string"}, "celsius": {"type": "integer"}},
}
ENCODED = [json.dumps({"sensor": f"s{n}", "celsius": n}).encode() for n in range(5)]


@pytest.fixture
def topic(connections: Connections, fresh_name: str) -> Topic:
    """An empty topic of two partitions whose values' schema is JSON."""
    create_topic(connections.admin, fresh_name, 2, {})
    connections.registry.register_schema(f"{fresh_name}-value", Schema(json.dumps(READING), "JSON"))
    return Topic(fresh_name, connections, TableSpec(topic=fresh_name, namespace="advice_tests", publish=[]))


def refused(topic: Topic) -> SuspendedError:
    with pytest.raises(SuspendedError) as refusal:
        land(topic.spec, topic.connections)
    return refusal.value


def followed(topic: Topic, **options: Any) -> list[dict[str, Any]]:
    """The rows after the setting was made and the table resumed, as the error says."""
    topic.spec = topic.spec.model_copy(update=options)
    resume(topic.spec, topic.connections)
    for check in ("row_count", "row_count_deep"):
        assert run_check(check, topic.spec, topic.connections).passed
    return topic.rows()


def send(topic: Topic, values: Sequence[bytes | None]) -> None:
    for n, value in enumerate(values):
        topic.send([value], partition=n % 2)


def test_plain_json_without_its_frame_lands_whole_after_framing_none_and_no_record_is_left_out(
    topic: Topic,
) -> None:
    """It offered `resume --past 0:0`, record after record: good records, each lost."""
    send(topic, ENCODED)

    error = refused(topic)
    rows = followed(topic, framing="none")

    assert "--past" not in error.todo
    assert "framing: none" in error.todo
    assert sorted(row["celsius"] for row in rows) == list(range(5))


def test_texts_land_whole_after_value_format_string(topic: Topic) -> None:
    send(topic, [b"one", b"two", b"three"])

    error = refused(topic)
    rows = followed(topic, value_format="string")

    assert "value_format: string" in error.todo
    assert sorted(row["value"] for row in rows) == ["one", "three", "two"]


def test_records_without_a_value_are_rows_after_on_null_value_keep(topic: Topic) -> None:
    send(topic, [None, None])

    error = refused(topic)
    rows = followed(topic, on_null_value="keep")

    assert "on_null_value: skip, keep or delete" in error.todo
    assert [row["celsius"] for row in rows] == [None, None]


def test_one_bad_record_among_good_ones_is_left_out_by_the_command_that_the_error_names(topic: Topic) -> None:
    topic.spec = topic.spec.model_copy(update={"framing": "none"})
    topic.send([*ENCODED[:2], b"{", *ENCODED[2:]])

    error = refused(topic)
    (command,) = re.findall(r"`frazil resume [^ `]+ --past ([^`]+)`", error.todo)
    partition, offset = map(int, command.split(":"))
    report = resume(topic.spec, topic.connections, past=[(partition, offset)])

    assert (report.records, report.skipped) == (3, 1)
    assert sorted(row["celsius"] for row in topic.rows()) == list(range(5))


def test_records_that_the_newest_schema_can_not_read_land_once_it_is_deleted(topic: Topic) -> None:
    """`resume --past` was offered, for records that all fail alike."""
    subject, registry = f"{topic.name}-value", topic.connections.registry
    old = registry.get_latest_version(subject).schema_id
    topic.send([b"\0" + old.to_bytes(4, "big") + value for value in ENCODED])
    registry.set_compatibility(subject, level="NONE")
    texts = {**READING, "properties": {**READING["properties"], "celsius": {"type": "string"}}}
    registry.register_schema(subject, Schema(json.dumps(texts), "JSON"))

    error = refused(topic)
    registry.delete_version(subject, 2)
    rows = followed(topic)

    assert "--past" not in error.todo
    assert "delete the newest one" in error.todo
    assert sorted(row["celsius"] for row in rows) == list(range(5))


@pytest.mark.nightly
def test_what_is_suspended_is_landed_by_resume_after_the_spec_says_dead_letter(topic: Topic) -> None:
    topic.spec = topic.spec.model_copy(update={"framing": "none"})
    topic.send([*ENCODED[:2], b"{", *ENCODED[2:]])

    error = refused(topic)
    rows = followed(topic, on_bad_record="dead_letter")

    assert "set on_bad_record to dead_letter" in error.todo
    assert sorted(row["celsius"] for row in rows) == list(range(5))
