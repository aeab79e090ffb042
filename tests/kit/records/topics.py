"""A Kafka topic with Avro records in it, as tests of landings want it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import fastavro
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from confluent_kafka.schema_registry import Schema

from frazil.connections import Connections
from frazil.kafka.facts import topic_facts
from frazil.spec.names import Things, things
from frazil.spec.topic import TableSpec
from kit.readers.compared import note
from kit.records.producing import send
from kit.runs.waiting import PATIENCE, wait_for

TRADE = {
    "type": "record",
    "name": "StockTrade",
    "namespace": "ksql",
    "fields": [
        {"name": "side", "type": "string"},
        {"name": "quantity", "type": "int"},
        {"name": "symbol", "type": "string"},
    ],
}


@dataclass
class Topic:
    """A Kafka topic with Avro trades in it, and the spec that lands it."""

    name: str
    connections: Connections
    spec: TableSpec
    schema: dict[str, Any] = field(default_factory=lambda: TRADE)
    produced: int = 0

    @property
    def things(self) -> Things:
        return things(self.spec, self.connections.settings)

    @property
    def partitions(self) -> int:
        """How many the topic has."""
        return len(
            self.connections.admin.list_topics(self.name, timeout=PATIENCE).topics[self.name].partitions
        )

    def grow(self, partitions: int) -> None:
        """Gives the topic more partitions, and waits until clients hear of them."""
        for future in self.connections.admin.create_partitions(
            [NewPartitions(self.name, partitions)]
        ).values():
            future.result(PATIENCE)
        wait_for(lambda: self.partitions == partitions)

    def register(self, schema: dict[str, Any]) -> int:
        """Registers a version under the topic's value subject; returns the schema id."""
        self.schema = schema
        return self.register_for(f"{self.name}-value", schema)

    def register_for(self, subject: str, schema: dict[str, Any]) -> int:
        """Registers a version under any subject; returns the schema id."""
        return int(self.connections.registry.register_schema(subject, Schema(json.dumps(schema), "AVRO")))

    def encode(
        self, value: dict[str, Any], schema_id: int | None = None, schema: dict[str, Any] | None = None
    ) -> bytes:
        """One value in the Confluent wire format, by an independent encoder; `schema`: not the newest."""
        stream = io.BytesIO()
        schema_id = schema_id or self.register(self.schema)
        stream.write(b"\0" + schema_id.to_bytes(4, "big"))
        fastavro.schemaless_writer(stream, fastavro.parse_schema(dict(schema or self.schema)), value)
        return stream.getvalue()

    def trades(self, count: int, partition: int = 0, *, plain: str = "") -> None:
        """Produces trades whose quantity counts up; see `send_keyed`."""
        schema_id = self.register(self.schema)
        numbers = range(self.produced, self.produced + count)
        self.send(
            [self.encode({"side": "BUY", "quantity": n, "symbol": "ZTEST"}, schema_id) for n in numbers],
            partition,
            plain=plain,
        )
        self.produced += count

    def send(self, values: Sequence[bytes | None], partition: int = 0, **more: Any) -> None:
        """Produces bytes as they are; see `send_keyed`."""
        self.send_keyed([(b"ZTEST", value) for value in values], partition, **more)

    def send_keyed(
        self,
        records: Sequence[tuple[bytes | None, bytes | None]],
        partition: int = 0,
        *,
        plain: str = "",
        **more: Any,
    ) -> None:
        """Produces keys and values as they are, in a transaction before one that is aborted.

        Each time the partition has `BESIDE` offsets more than records, all of them behind; `plain`: why none.
        """
        placed = [(key, value, partition) for key, value in records]
        send(self.connections.settings, self.name, placed, plain=plain, **more)

    def rows(self) -> list[dict[str, Any]]:
        """The table's rows as PyIceberg reads them, by partition and offset."""
        table = self.connections.catalog.load_table(self.things.table.identifier)
        rows: list[dict[str, Any]] = table.scan().to_arrow().to_pylist()
        return sorted(rows, key=lambda r: (r["$$partition"], r["$$offset"]))

    def delete_records_before(self, offset: int, partition: int = 0) -> None:
        """What retention does, at once."""
        point = TopicPartition(self.name, partition, offset)
        for future in self.connections.admin.delete_records([point]).values():
            future.result(PATIENCE)


def create_topic(admin: AdminClient, name: str, partitions: int, config: dict[str, str]) -> None:
    """Makes a topic and waits until the broker knows it."""
    for future in admin.create_topics([NewTopic(name, partitions, config=config)]).values():
        future.result(PATIENCE)
    wait_for(lambda: topic_facts(admin, [name]))


def make_anew(topic: Topic) -> None:
    """Deletes the topic, and makes one of its name."""
    for future in topic.connections.admin.delete_topics([topic.name], operation_timeout=30).values():
        future.result(PATIENCE)
    create_topic(topic.connections.admin, topic.name, 1, {})


MakeTopic = Callable[..., Topic]
"""`make_topic(partitions=2, config={...}, on_bad_record="skip")`: the rest goes into the spec."""


def topic_maker(connections: Connections, name: str, namespace: str) -> MakeTopic:
    """Makes topics whose names begin alike, and which hold trades."""
    numbers = count()

    def make(
        partitions: int = 1,
        config: dict[str, str] | None = None,
        trades: bool = True,
        **spec: Any,
    ) -> Topic:
        own = f"{name}_{next(numbers)}"
        create_topic(connections.admin, own, partitions, config or {})
        topic = Topic(own, connections, TableSpec(topic=own, namespace=namespace, **spec))
        note(topic)
        if trades:
            topic.register(TRADE)
        return topic

    return make
