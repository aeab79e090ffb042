"""Topics and subjects made as a spec says, and what a registry tells of them."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import ConfigResource, ResourceType
from confluent_kafka.schema_registry import Schema

from frazil.connections import Connections
from frazil.errors import ConfigureError, DifferentError, MissingError, PartDownError
from frazil.formats.registry.client import registry_client
from frazil.formats.registry.subjects import subject_versions
from frazil.kafka.clients import asked
from frazil.kafka.facts import topic_facts
from frazil.kafka.provisioning import ensure_topic
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from kit.runs.waiting import PATIENCE

VALUE = {"type": "record", "name": "V", "fields": [{"name": "a", "type": "int"}]}


WIDER = {"type": "record", "name": "V", "fields": [{"name": "a", "type": "long"}]}


FORMATS = {
    "v.avsc": ("AVRO", json.dumps(VALUE), json.dumps(WIDER)),
    "v.json": (
        "JSON",
        '{"type": "object", "properties": {"a": {"type": "integer"}}}',
        '{"type": "object", "properties": {"a": {"type": "number"}}}',
    ),
    "v.proto": (
        "PROTOBUF",
        'syntax = "proto3"; message V { int32 a = 1; }',
        'syntax = "proto3"; message V { int64 a = 1; }',
    ),
}
"""A schema of each format, and another one that keeps the same records from being read."""


@pytest.fixture
def spec(fresh_name: str, tmp_path: Path) -> TableSpec:
    """A spec with a schema, three partitions and a setting."""
    return TableSpec(
        topic=fresh_name,
        partitions=3,
        topic_config={"retention.ms": "-1"},
        value_schema=write(tmp_path / "v.avsc", VALUE),
    )


def write(file: Path, schema: dict[str, Any]) -> Path:
    file.write_text(json.dumps(schema))
    return file


def test_a_topic_is_made_with_its_settings_and_its_schema(connections: Connections, spec: TableSpec) -> None:
    state = ensure_topic(spec, connections)
    assert (state.created, state.partitions, state.end) == (True, 3, {0: 0, 1: 0, 2: 0})
    assert (state.subject, state.schema_version) == (f"{spec.topic}-value", 1)
    again = ensure_topic(spec, connections)
    assert not again.created
    assert (again.topic_id, again.schema_id) == (state.topic_id, state.schema_id)


def test_a_topic_alone_has_six_partitions_and_no_subject(connections: Connections, fresh_name: str) -> None:
    state = ensure_topic(TableSpec(topic=fresh_name), connections)
    assert (state.partitions, state.subject, state.schema_id) == (6, None, None)


def test_of_callers_that_race_one_makes_the_topic(connections: Connections, spec: TableSpec) -> None:
    with ThreadPoolExecutor(4) as pool:
        states = list(pool.map(lambda _: ensure_topic(spec, connections), range(4)))
    assert [s.created for s in states].count(True) == 1
    assert len({(s.topic_id, s.schema_id) for s in states}) == 1


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"partitions": 4}, "3 partitions, the spec says 4"),
        ({"replication": 2}, "1 replicas, the spec says 2"),
        ({"topic_config": {"retention.ms": "5"}}, "retention.ms is -1, the spec says 5"),
    ],
)
def test_a_topic_that_differs_is_refused(
    connections: Connections, spec: TableSpec, change: dict[str, Any], expected: str
) -> None:
    before = ensure_topic(spec, connections)
    with pytest.raises(DifferentError, match=expected):
        ensure_topic(spec.model_copy(update=change), connections)
    assert ensure_topic(spec, connections) == replace(before, created=False)


def test_a_subject_that_differs_is_refused_and_no_topic_is_made(
    connections: Connections, spec: TableSpec, tmp_path: Path
) -> None:
    connections.registry.register_schema(f"{spec.topic}-value", Schema(json.dumps(WIDER), "AVRO"))
    with pytest.raises(DifferentError, match='a: "long" in the registry, "int" wanted'):
        ensure_topic(spec, connections)
    assert topic_facts(connections.admin, [spec.topic]) == {}


@pytest.fixture(params=FORMATS)
def written(fresh_name: str, tmp_path: Path, request: pytest.FixtureRequest) -> TableSpec:
    """A spec with a key schema and a value schema of one format."""
    file = tmp_path / request.param
    file.write_text(FORMATS[request.param][1])
    return TableSpec(topic=fresh_name, partitions=1, key_schema=file, value_schema=file)


def test_schemas_of_every_format_are_registered_for_keys_and_values(
    connections: Connections, written: TableSpec
) -> None:
    kind = FORMATS[str(written.value_schema and written.value_schema.name)][0]

    state = ensure_topic(written, connections)
    again = ensure_topic(written, connections)

    assert (state.subject, state.key_subject) == (f"{written.topic}-value", f"{written.topic}-key")
    for subject in (state.subject, state.key_subject):
        assert [v.kind for v in subject_versions(connections.registry, str(subject))] == [kind]
    assert again == replace(state, created=False)


@pytest.mark.parametrize("half", ["key", "value"])
def test_a_subject_of_any_format_that_differs_is_refused_and_nothing_is_made(
    connections: Connections, written: TableSpec, half: str
) -> None:
    file = written.value_schema
    assert file
    kind, _, other = FORMATS[file.name]
    connections.registry.register_schema(f"{written.topic}-{half}", Schema(other, kind))

    with pytest.raises(DifferentError) as caught:
        ensure_topic(written, connections)

    assert str(file) in str(caught.value)
    assert "in the registry" in str(caught.value)
    assert topic_facts(connections.admin, [written.topic]) == {}
    other_half = {"key": "value", "value": "key"}[half]
    with pytest.raises(MissingError):
        subject_versions(connections.registry, f"{written.topic}-{other_half}")


def test_a_subject_of_another_format_is_refused(connections: Connections, spec: TableSpec) -> None:
    kind, text, _ = FORMATS["v.json"]
    connections.registry.register_schema(f"{spec.topic}-value", Schema(text, kind))
    with pytest.raises(DifferentError, match="it is of type JSON, AVRO wanted"):
        ensure_topic(spec, connections)


def test_a_schema_that_the_registry_refuses_is_named_with_its_file_and_no_topic_is_made(
    connections: Connections, spec: TableSpec, tmp_path: Path
) -> None:
    file = tmp_path / "odd.json"
    file.write_text('{"$ref": "#/nowhere"}')

    with pytest.raises(ConfigureError, match=r"odd\.json"):
        ensure_topic(spec.model_copy(update={"value_schema": file}), connections)

    assert topic_facts(connections.admin, [spec.topic]) == {}


def test_a_schema_of_one_record_type_goes_to_the_subject_of_that_type(
    connections: Connections, spec: TableSpec
) -> None:
    named = {"subject_names": "topic_record", "record_type": "shop.V"}
    assert ensure_topic(spec.model_copy(update=named), connections).subject == f"{spec.topic}-shop.V"


def test_an_older_version_that_equals_the_spec_is_enough(connections: Connections, spec: TableSpec) -> None:
    first = ensure_topic(spec, connections)
    connections.registry.register_schema(f"{spec.topic}-value", Schema(json.dumps(WIDER), "AVRO"))
    assert ensure_topic(spec, connections).schema_version == first.schema_version == 1


def test_a_setting_that_kafka_does_not_know_is_named(connections: Connections, fresh_name: str) -> None:
    with pytest.raises(ConfigureError, match="retention_ms") as refused:
        ensure_topic(TableSpec(topic=fresh_name, topic_config={"retention_ms": "1"}), connections)

    assert refused.value.todo == "Fix what Kafka names."
    assert ensure_topic(TableSpec(topic=fresh_name, topic_config={"retention.ms": "1"}), connections).created


def test_a_topic_that_kafka_does_not_know_is_asked_once_it_is_made(
    connections: Connections, fresh_name: str
) -> None:
    topic = ConfigResource(ResourceType.TOPIC, fresh_name)

    def ask() -> dict[str, Any]:
        (answer,) = connections.admin.describe_configs([topic], request_timeout=PATIENCE).values()
        return dict(answer.result())

    with pytest.raises(MissingError, match="does not know this topic") as refused:
        asked(fresh_name, connections.admin, ask)

    ensure_topic(TableSpec(topic=fresh_name), connections)

    assert refused.value.todo == "Make the topic first."
    assert "retention.ms" in asked(fresh_name, connections.admin, ask)


def test_versions_come_oldest_first_and_are_asked_for_once(
    stack: Settings, connections: Connections, fresh_name: str
) -> None:
    for schema in (VALUE, WIDER):
        connections.registry.register_schema(fresh_name, Schema(json.dumps(schema), "AVRO"))
    versions = subject_versions(connections.registry, fresh_name)
    assert [json.loads(v.text) for v in versions] == [VALUE, WIDER]
    assert [v.version for v in versions] == [1, 2]
    assert subject_versions(connections.registry, fresh_name) is versions
    assert subject_versions(registry_client(stack), fresh_name) == versions


def test_a_subject_made_again_is_read_again(connections: Connections, fresh_name: str) -> None:
    registry = connections.registry
    registry.register_schema(fresh_name, Schema(json.dumps(VALUE), "AVRO"))
    before = subject_versions(registry, fresh_name)
    registry.delete_subject(fresh_name)
    registry.delete_subject(fresh_name, permanent=True)
    with pytest.raises(MissingError, match=fresh_name):
        subject_versions(registry, fresh_name)
    registry.register_schema(fresh_name, Schema(json.dumps(WIDER), "AVRO"))
    (version,) = subject_versions(registry, fresh_name)
    assert json.loads(version.text) == WIDER
    assert version.schema_id != before[0].schema_id


def test_a_registry_that_is_down_is_told_without_its_password(stack: Settings) -> None:
    away = stack.with_changes(registry={"url": "http://me:secret@127.0.0.1:1/x"})
    with pytest.raises(PartDownError, match=r"127\.0\.0\.1:1/x") as caught:
        subject_versions(registry_client(away), "any-value")
    assert "secret" not in str(caught.value)
