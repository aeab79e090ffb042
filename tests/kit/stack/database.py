"""A table of PostgreSQL that is changed at random, and the Debezium that reads it."""

from __future__ import annotations

import json
import random
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import psycopg
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.schema_registry import Schema

from frazil.connections import Connections
from frazil.kafka.clients import client_config
from frazil.kafka.facts import topic_facts
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from frazil_local.northwind.connect import ask_connect, connector_of, connector_states, login_headers
from frazil_local.northwind.postgres import open_database
from frazil_local.ports import recall, url
from kit.records.database_columns import COLUMNS, KEY, PLAIN, Column, envelope, record_of
from kit.records.envelopes import embedded
from kit.records.topics import Topic
from kit.records.upserts import by_key
from kit.runs.waiting import wait_for
from kit.stack.own_stack import Own

Written = Literal["plain", "embedded"]
"""How Connect's JSON converter writes: the payload alone, or `{schema, payload}`."""

_JSON = "org.apache.kafka.connect.json.JsonConverter"
_PARTITIONS = 2


@dataclass
class Database:
    """A table of random rows in a database of its own."""

    own: Own
    name: str
    dice: random.Random
    topic: Topic
    ends: int = 0
    positions: dict[int, int] = field(default_factory=dict)

    @property
    def connection(self) -> psycopg.Connection[Any]:
        return open_database(self.own.home, recall(self.own.home.ports), self.name)

    def execute(self, *statements: tuple[str, Sequence[Any]]) -> None:
        """One transaction of these statements."""
        with self.connection as connection:
            for statement, values in statements:
                connection.execute(statement, values)

    def live(self, transactions: int) -> None:
        """Changes rows in so many transactions, some of which are rolled back."""
        with self.connection as connection:
            for _ in range(transactions):
                for _ in range(self.dice.choice((1, 1, 2, 8))):
                    self._change(connection)
                connection.rollback() if self.dice.random() < 0.1 else connection.commit()

    def _change(self, connection: psycopg.Connection[Any]) -> None:
        dice, key = self.dice, [column.draw(self.dice) for column in KEY]
        at = " AND ".join(f"{column.name} = %s" for column in KEY)
        match dice.choice(("put", "put", "set", "set", "set", "many", "delete", "move", "same")):
            case "put":
                names, marks = ", ".join(c.name for c in COLUMNS), ", ".join(["%s"] * len(COLUMNS))
                values = [*key, *map(self._value, PLAIN)]
                connection.execute(
                    f"INSERT INTO things ({names}) VALUES ({marks}) ON CONFLICT DO NOTHING", values
                )
            case "set":
                changed = dice.sample(PLAIN, dice.randrange(1, len(PLAIN)))
                sets = ", ".join(f"{c.name} = %s" for c in changed)
                connection.execute(f"UPDATE things SET {sets} WHERE {at}", [*map(self._value, changed), *key])
            case "many":
                connection.execute(
                    "UPDATE things SET small = %s, note = NULL WHERE kind = %s", [dice.randrange(9), key[1]]
                )
            case "delete":
                connection.execute(f"DELETE FROM things WHERE {at}", key)
            case "move":
                free = f"NOT EXISTS (SELECT FROM things WHERE {at})"
                to = [dice.randrange(40), dice.choice("abcd")]
                connection.execute(
                    f"UPDATE things SET id = %s, kind = %s WHERE {at} AND {free}", [*to, *key, *to]
                )
            case _:
                connection.execute(f"UPDATE things SET id = id WHERE {at}", key)

    def _value(self, column: Column) -> Any:
        return None if self.dice.random() < 0.2 else column.draw(self.dice)

    def drain(self) -> None:
        """Returns when Kafka holds all that was committed: each partition has rows of the last one."""
        self.ends += 1
        keys = {(n, f"end{self.ends}") for n in range(8)}
        with self.connection as connection, connection.cursor() as cursor:
            cursor.executemany("INSERT INTO things (id, kind) VALUES (%s, %s)", sorted(keys))
        consumer = Consumer({**client_config(self.topic.connections.settings), "group.id": self.name})
        seen = set[tuple[Any, Any]]()

        def all_there() -> bool:
            for message in consumer.consume(1000, 0.2):
                self.positions[message.partition() or 0] = (message.offset() or 0) + 1
                document = json.loads(message.key() or b"{}")  # a truncate has none
                document = document.get("payload", document)
                seen.add((document.get("id"), document.get("kind")))
            return keys <= seen

        wait_for(lambda: topic_facts(self.topic.connections.admin, [self.topic.name]), 60)
        names = range(_PARTITIONS)
        consumer.assign([TopicPartition(self.topic.name, p, self.positions.get(p, 0)) for p in names])
        wait_for(all_there, 60)
        consumer.close()

    def differences(self) -> list[tuple[Any, ...]]:
        """Where the Iceberg table is another: the key, and each column's value there and in the database."""
        ours, theirs = _by_key(self._landed()), _by_key(self._rows())
        alone = [(key, "is there once") for key in ours.keys() ^ theirs.keys()]
        pairs = (
            (key, zip(COLUMNS, ours[key], theirs[key], strict=True)) for key in ours.keys() & theirs.keys()
        )
        return alone + [
            (key, c.name, one, other) for key, row in pairs for c, one, other in row if one != other
        ]

    def _rows(self) -> list[tuple[Any, ...]]:
        read = ", ".join(column.read.format(column.name) for column in COLUMNS)
        with self.connection as connection:
            return connection.execute(f"SELECT {read} FROM things").fetchall()

    def _landed(self) -> list[tuple[Any, ...]]:
        return [tuple(row[column.name] for column in COLUMNS) for row in self.topic.rows()]

    def restart(self) -> None:
        """Has the connector begin again where it noted that it was."""
        ports = recall(self.own.home.ports)
        ask_connect(self.own.home, ports, f"connectors/{self.name}/restart?includeTasks=true", {})
        wait_for(lambda: connector_states(self.own.home, ports, self.name) == ["RUNNING", "RUNNING"])


def _by_key(rows: list[tuple[Any, ...]]) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    return by_key((row[: len(KEY)], row) for row in rows)


@contextmanager
def database(
    own: Own,
    connections: Connections,
    name: str,
    seed: int = 0,
    written: Written = "plain",
    before: int = 0,
    config: dict[str, str] | None = None,
) -> Iterator[Database]:
    """A database that Debezium reads since so many transactions, with a connector of these settings."""
    ports, topic = recall(own.home.ports), f"{name}.public.things"
    framed = embedded if written == "embedded" else lambda schema: schema
    for half, schema in (("key", record_of(KEY, ())), ("value", envelope())):
        connections.registry.register_schema(f"{topic}-{half}", Schema(json.dumps(framed(schema)), "JSON"))
    spec = TableSpec(topic=topic, namespace="landing_tests", mode="cdc", framing="none")
    made = Database(own, name, random.Random(seed), Topic(topic, connections, spec))
    columns = ", ".join(f"{c.name} {c.kind}" for c in COLUMNS)
    with open_database(own.home, ports, "postgres") as connection:
        connection.autocommit = True
        connection.execute(f"CREATE DATABASE {name}")
    with made.connection as connection:
        connection.execute(f"CREATE TABLE things ({columns}, PRIMARY KEY ({', '.join(c.name for c in KEY)}))")
    made.live(before)
    schemas = str(written == "embedded").lower()
    options = {f"{half}.converter.schemas.enable": schemas for half in ("key", "value")}
    options |= {f"{half}.converter": _JSON for half in ("key", "value")}
    options |= {"topic.creation.default.partitions": str(_PARTITIONS), **(config or {})}
    whole = connector_of(own.home, ports, name, **options)
    ask_connect(own.home, ports, "connectors", {"name": name, "config": whole})
    try:
        wait_for(lambda: connector_states(own.home, ports, name) == ["RUNNING", "RUNNING"])
        yield made
    finally:
        _forget(made, f"{url(ports, 'connect')}/connectors/{name}")


def drain(settings: Settings, database: psycopg.Connection[Any], topics: Mapping[str, str]) -> None:
    """Returns when Kafka holds all that was committed: each topic ends with the last transaction.

    Args:
        settings: Say where Kafka is.
        database: The one that Debezium reads.
        topics: Topics of one partition, and for each a statement that changes a row of its table.
    """
    ((last,),) = database.execute("SELECT pg_current_xact_id()::text::bigint").fetchall()
    for statement in topics.values():
        database.execute(statement.encode())
    database.commit()
    consumer = Consumer({**client_config(settings), "group.id": "drain"})

    def transaction_of(topic: str) -> int:
        place = TopicPartition(topic, 0)
        consumer.assign([TopicPartition(topic, 0, consumer.get_watermark_offsets(place, 10)[1] - 1)])
        values = [message.value() for message in consumer.consume(1, 10)]
        document = json.loads(next(iter(values), None) or b"{}")
        return int(document.get("source", {}).get("txId", 0))

    for topic in topics:
        wait_for(lambda topic=topic: transaction_of(topic) == last, 60)  # type: ignore[misc]
    consumer.close()


def _forget(made: Database, connector: str) -> None:
    headers = login_headers(made.own.home)
    request = urllib.request.Request(connector, headers=headers, method="DELETE")
    urllib.request.urlopen(request, timeout=30).close()
    slots = "pg_replication_slots WHERE slot_name = %s AND NOT active"
    free = f"SELECT pg_drop_replication_slot(slot_name) FROM {slots}"
    with made.connection as connection:
        connection.autocommit = True
        wait_for(lambda: connection.execute(free, [made.name]).fetchone())
