"""Something of everything that a stack can hold, written and read again."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import NewTopic
from confluent_kafka.schema_registry import Schema
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.types import LongType, NestedField

from frazil.connections import Connections
from frazil.settings.profile import Settings
from kit.runs.waiting import PATIENCE
from kit.storage.client import storage_client


def write_everywhere(to: Connections, name: str) -> None:
    settings = to.settings
    to.admin.create_topics([NewTopic(name, 1)])[name].result(PATIENCE)
    producer = Producer({"bootstrap.servers": settings.kafka.bootstrap_servers})
    producer.produce(name, b"a record")
    assert producer.flush(PATIENCE) == 0
    to.registry.register_schema(f"{name}-value", Schema('"string"', "AVRO"))
    storage_client(settings).put_object(Bucket="lake", Key=name, Body=b"an object")
    to.catalog.create_namespace(name)
    to.catalog.create_table((name, "a_table"), IcebergSchema(NestedField(1, "id", LongType())))
    to.glue.create_database(DatabaseInput={"Name": name})
    to.glue.create_table(DatabaseName=name, TableInput={"Name": "a_table"})
    to.glue.update_table(DatabaseName=name, TableInput={"Name": "a_table"}, VersionId="1")
    with to.snowflake() as snowflake:
        snowflake.cursor().execute(f"create database {name}")
        snowflake.cursor().execute(f"create schema {name}.s")
        snowflake.cursor().execute(f"create table {name}.s.a_table as select 1 as id")


def written(name: str) -> dict[str, Any]:
    return {
        "kafka": b"a record",
        "registry": [f"{name}-value"],
        "s3": b"an object",
        "rest": [(name, "a_table")],
        "glue": ("a_table", "2"),
        "snowflake": [(1,)],
    }


def read_everywhere(of: Connections, name: str) -> dict[str, Any]:
    glue = of.glue.get_table(DatabaseName=name, Name="a_table")["Table"]
    with of.snowflake() as snowflake:
        rows = snowflake.cursor().execute(f"select id from {name}.s.a_table").fetchall()
    return {
        "kafka": first_record(of.settings, name),
        "registry": [each for each in of.registry.get_subjects() if each.startswith(name)],
        "s3": storage_client(of.settings).get_object(Bucket="lake", Key=name)["Body"].read(),
        "rest": of.catalog.list_tables(name),
        "glue": (glue["Name"], glue["VersionId"]),
        "snowflake": rows,
    }


def first_record(settings: Settings, topic: str) -> bytes | None:
    consumer = Consumer({"bootstrap.servers": settings.kafka.bootstrap_servers, "group.id": topic})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        message = consumer.poll(PATIENCE)
        return None if message is None else message.value()
    finally:
        consumer.close()
