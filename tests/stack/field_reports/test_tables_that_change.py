"""One topic for two tables, keys with new names, and tables without rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema

from frazil.checks.run import run_check
from frazil.errors import DifferentError, SuspendedError
from frazil.landing.land import land
from frazil.pipelines.folder import load_pipelines
from frazil.spec.migrations import Migration
from frazil.spec.topic import TableSpec
from kit.readers.opened import table_of
from kit.records.topics import TRADE, MakeTopic, Topic
from kit.runs.shell import Command, Shell

RENAME = Migration.model_validate({"id": "new-name", "rename": {"from": "id", "to": "order_id"}})


def changed(topic: Topic, **spec: Any) -> Topic:
    """The same topic, by a spec that says something else."""
    return Topic(topic.name, topic.connections, topic.spec.model_copy(update=spec), topic.schema)


def key_schema(topic: Topic, field: str) -> int:
    schema = {"type": "record", "name": "K", "fields": [{"name": field, "type": "string"}]}
    registry = topic.connections.registry
    registry.set_compatibility(f"{topic.name}-key", level="NONE")
    return int(registry.register_schema(f"{topic.name}-key", Schema(json.dumps(schema), "AVRO")))


def send(topic: Topic, key_id: int, rows: Mapping[str, int]) -> None:
    """Records whose key is one text."""
    value_id = topic.register(TRADE)
    header = b"\0" + key_id.to_bytes(4, "big")
    topic.send_keyed(
        [
            (header + bytes([2 * len(key)]) + key.encode(), topic.encode(trade(n), value_id))
            for key, n in rows.items()
        ]
    )


def trade(quantity: int) -> dict[str, Any]:
    return {"side": "BUY", "quantity": quantity, "symbol": "Z"}


def test_a_topic_becomes_a_table_of_records_and_one_of_rows(
    make_topic: MakeTopic, shell: Shell, frazil: Command
) -> None:
    """docs/cdc.md's own example was refused: "is there already"."""
    topic = make_topic(key_format="string")
    for quantity in (1, 2):
        topic.send([topic.encode(trade(quantity))])
    shell.write(
        {"topic": topic.name, "key_format": "string", "table": f"{topic.name}_all"},
        {"topic": topic.name, "key_format": "string", "mode": "upsert"},
    )

    assert frazil("land", "--all").code == 0

    (pipeline,) = load_pipelines([shell.pipelines], topic.connections.settings).all()
    every, newest = (Topic(topic.name, topic.connections, spec) for spec in pipeline.tables)
    assert [row["quantity"] for row in every.rows()] == [1, 2]
    assert [row["quantity"] for row in newest.rows()] == [2]


@pytest.mark.each_time("migration")
@pytest.mark.parametrize("first", ["migration", "schema"])
def test_a_key_column_of_an_upsert_table_gets_a_new_name(make_topic: MakeTopic, first: str) -> None:
    """A primary key gets a new name in the source, and there was no way."""
    topic = make_topic(mode="upsert", key_fields=("id",))
    send(topic, key_schema(topic, "id"), {"a": 1, "b": 2})
    land(topic.spec, topic.connections)
    renamed = changed(topic, migrations=(RENAME,))
    if first == "migration":
        land(renamed.spec, topic.connections)
    send(topic, key_schema(topic, "order_id"), {"b": 20, "c": 30})
    if first == "schema":
        with pytest.raises(DifferentError) as refused:
            land(changed(topic, key_fields=()).spec, topic.connections)
        assert "rename: {from: id, to: order_id}" in (refused.value.todo or "")

    land(renamed.spec, topic.connections)
    topic.spec = changed(topic, migrations=(RENAME,), key_fields=("order_id",)).spec
    send(topic, key_schema(topic, "order_id"), {"c": 31})
    land(topic.spec, topic.connections)

    assert {row["order_id"]: row["quantity"] for row in topic.rows()} == {"a": 1, "b": 20, "c": 31}
    assert len(topic.rows()) == 3
    for check in ("row_count", "row_count_deep", "schema"):
        assert run_check(check, topic.spec, topic.connections).passed


def test_a_table_without_rows_takes_any_schema(make_topic: MakeTopic) -> None:
    """Nothing was landed, and "a field that rows hold can't be dropped" all the same."""
    topic = make_topic()
    topic.send([b"no frame"])
    with pytest.raises(SuspendedError):
        land(topic.spec, topic.connections)
    topic.connections.registry.set_compatibility(f"{topic.name}-value", level="NONE")
    other = {"type": "record", "name": "Other", "fields": [{"name": "side", "type": "int"}]}
    topic.register(other)
    topic.send([topic.encode({"side": 7})])

    land(topic.spec, topic.connections, past=[(0, 0)])

    (row,) = topic.rows()
    assert (row["side"], "quantity" in row) == (7, False)
    assert run_check("schema", topic.spec, topic.connections).passed


def test_a_table_without_rows_takes_another_mode_key_and_partitions(make_topic: MakeTopic) -> None:
    """A first attempt that lands nothing leaves a table, which must not hold its owner to it."""
    topic = make_topic()
    topic.send([b"no frame"])
    with pytest.raises(SuspendedError):
        land(topic.spec, topic.connections)
    asked = {"mode": "upsert", "key_fields": ["symbol"], "key_format": "string"}
    asked["partition_by"] = ["bucket(4, symbol)"]
    topic.spec = TableSpec.model_validate(
        {
            "topic": topic.name,
            "namespace": topic.spec.namespace,
            **asked,
            "partition_by": ["bucket(4, symbol)"],
        }
    )
    topic.trades(3)

    land(topic.spec, topic.connections, past=[(0, 0)])

    (row,) = topic.rows()
    assert (row["key"], row["symbol"], row["quantity"]) == ("ZTEST", "ZTEST", 2)
    assert [str(field.transform) for field in table_of(topic).spec().fields] == ["bucket[4]"]
    assert run_check("schema", topic.spec, topic.connections).passed


@pytest.mark.nightly
def test_windowed_keys_become_bytes_after_a_refusal(make_topic: MakeTopic) -> None:
    """Windowed keys of ksqlDB carry eight bytes behind their Avro, which is no key of Avro's then."""
    topic = make_topic(mode="upsert")
    key_id = key_schema(topic, "id")
    key = b"\0" + key_id.to_bytes(4, "big") + b"\x02a" + (1_700_000_000_000).to_bytes(8, "big")
    topic.send_keyed([(key, topic.encode(trade(5)))])
    with pytest.raises(SuspendedError):
        land(topic.spec, topic.connections)

    topic.spec = changed(topic, key_format="bytes").spec
    land(topic.spec, topic.connections)

    assert [(row["key"], row["quantity"]) for row in topic.rows()] == [(key, 5)]
    topic.send_keyed([(key, topic.encode(trade(6)))])
    land(topic.spec, topic.connections)
    assert [(row["key"], row["quantity"]) for row in topic.rows()] == [(key, 6)]


def test_tables_says_why_a_table_was_never_made(make_topic: MakeTopic, shell: Shell, frazil: Command) -> None:
    """It said `new`, before and after each refusal."""
    topic = make_topic(trades=False)
    field = {"name": "nothing", "type": "null"}
    topic.register({"type": "record", "name": "R", "fields": [field]})
    topic.send([topic.encode({"nothing": None})])
    shell.write({"topic": topic.name})

    document = frazil("tables", "--json").document

    (state,) = document["tables"] if isinstance(document, dict) else document
    described = frazil("describe", state["identifier"], "--json").document
    for each in (state, described["state"]):
        assert each["state"] == "suspended"
        assert "field nothing" in each["reason"]


def test_a_table_is_partitioned_by_a_column_of_logs(make_topic: MakeTopic) -> None:
    """ECS loggers write `@timestamp`: https://www.elastic.co/guide/en/ecs/current/ecs-base.html"""
    topic = make_topic(trades=False, partition_by=("@timestamp", "bucket(4, @timestamp)"))
    schema = {"type": "object", "properties": {"@timestamp": {"type": "string"}}, "required": ["@timestamp"]}
    registry = topic.connections.registry
    schema_id = registry.register_schema(f"{topic.name}-value", Schema(json.dumps(schema), "JSON"))
    topic.send([b"\0" + schema_id.to_bytes(4, "big") + b'{"@timestamp": "2026-01-02T03:04:05Z"}'])

    land(topic.spec, topic.connections)

    assert [row["@timestamp"] for row in topic.rows()] == ["2026-01-02T03:04:05Z"]


@pytest.mark.each_time("order-id", "signs")
@pytest.mark.parametrize(
    "name", ["1st", "order-id", "Größe", "日本"], ids=["1st", "order-id", "umlauts", "signs"]
)
def test_a_table_is_partitioned_by_a_column_of_any_name(make_topic: MakeTopic, name: str) -> None:
    """SeaweedFS' table buckets take plain names of folders only: https://github.com/seaweedfs/seaweedfs"""
    topic = make_topic(trades=False, partition_by=(name, f"bucket(4, {name})"))
    schema = {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
    registry = topic.connections.registry
    schema_id = registry.register_schema(f"{topic.name}-value", Schema(json.dumps(schema), "JSON"))
    topic.send([b"\0" + schema_id.to_bytes(4, "big") + json.dumps({name: "x"}).encode()])

    land(topic.spec, topic.connections)

    assert [row[name] for row in topic.rows()] == ["x"]
