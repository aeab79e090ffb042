"""A table of PostgreSQL that is changed at random, and the Debezium that reads it."""

from __future__ import annotations

import json
import random
import string
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal

import psycopg
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.schema_registry import Schema

from frazil.connections import Connections
from frazil.kafka.clients import client_config
from frazil.kafka.facts import topic_facts
from frazil.local.northwind.connect import ask_connect, connector_of, connector_states, login_headers
from frazil.local.northwind.postgres import open_database
from frazil.local.ports import recall, url
from frazil.spec.topic import TableSpec
from kit.envelopes import embedded
from kit.own_stack import Own
from kit.topics import Topic
from kit.upserts import by_key
from kit.waiting import wait_for

Written = Literal["plain", "embedded"]
"""How Connect's JSON converter writes: the payload alone, or `{schema, payload}`."""

Draw = Callable[[random.Random], Any]

_JSON = "org.apache.kafka.connect.json.JsonConverter"
_DEBEZIUM, _CONNECT = "io.debezium.time.", "org.apache.kafka.connect.data."
_PARTITIONS = 2
_FIRST = datetime(1583, 1, 1)
"""Debezium takes older timestamps for days of the Julian calendar (docs/cdc.md)."""
_LETTERS = string.ascii_letters + "äß€😀'\"\\\n\t {}"


@dataclass(frozen=True)
class Column:
    """A column, the schema of its values in JSON, how they are drawn and how they are read."""

    name: str
    kind: str
    schema: dict[str, Any]
    draw: Draw
    read: str = "{}"  # SQL, of the column's name


def _whole(bits: int) -> Draw:
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return lambda dice: dice.choice((0, 1, -1, least, most, dice.randint(least, most)))


def _decimal(digits: int, scale: int) -> Draw:
    most = 10**digits - 1

    def draw(dice: random.Random) -> Decimal:
        whole = dice.choice((0, 1, -1, most, -most, dice.randint(-most, most)))
        return Decimal(f"{whole}E-{scale}")  # a division would round it

    return draw


def _text(most: int) -> Draw:
    return lambda dice: "".join(dice.choices(_LETTERS, k=dice.randrange(most)))


def _moment(dice: random.Random) -> datetime:
    days = (datetime.max - _FIRST).days
    return _FIRST + timedelta(dice.randrange(days), 0, dice.randrange(86_400_000_000))


def _clock(dice: random.Random) -> time:
    return (_FIRST + timedelta(0, 0, dice.randrange(86_400_000_000))).time()


def _integer(size: int, title: str = "") -> dict[str, Any]:
    return {"type": "integer", "connect.type": f"int{size}", **({"title": title} if title else {})}


def _number(digits: int, scale: int) -> dict[str, Any]:
    size = {"scale": str(scale), "connect.decimal.precision": str(digits)}
    return {
        "type": "string",
        "title": f"{_CONNECT}Decimal",
        "connect.type": "bytes",
        "connect.parameters": size,
    }


_TEXT = {"type": "string"}
KEY = (
    Column("id", "integer", _integer(32), lambda dice: dice.randrange(40)),
    Column("kind", "varchar(8)", _TEXT, lambda dice: dice.choice("abc")),
)
COLUMNS = (
    *KEY,
    Column("small", "smallint", _integer(16), _whole(16)),
    Column("big", "bigint", _integer(64), _whole(64)),
    Column("price", "numeric(12, 2)", _number(12, 2), _decimal(12, 2)),
    Column("exact", "numeric(38, 10)", _number(38, 10), _decimal(38, 10)),
    Column(
        "ratio",
        "real",
        {"type": "number", "connect.type": "float32"},
        lambda dice: dice.gauss(0, 1e6),
        "{}::float8",
    ),
    Column(
        "amount",
        "double precision",
        {"type": "number", "connect.type": "float64"},
        lambda dice: dice.gauss(0, 1e9),
    ),
    Column("flag", "boolean", {"type": "boolean"}, lambda dice: dice.random() < 0.5),
    Column(
        "day",
        "date",
        _integer(32, f"{_DEBEZIUM}Date"),
        lambda dice: date.fromordinal(dice.randrange(1, 3_652_060)),
    ),
    Column("at", "timestamp", _integer(64, f"{_DEBEZIUM}MicroTimestamp"), _moment),
    Column(
        "at_ms",
        "timestamp(3)",
        _integer(64, f"{_DEBEZIUM}Timestamp"),
        lambda dice: _moment(dice).replace(microsecond=123_000),
    ),
    Column(
        "seen",
        "timestamptz",
        {**_TEXT, "title": f"{_DEBEZIUM}ZonedTimestamp"},
        lambda dice: _moment(dice).replace(year=2020, tzinfo=UTC),
    ),
    Column(
        "clock",
        "time",
        _integer(64, f"{_DEBEZIUM}MicroTime"),
        _clock,
        "(extract(epoch from {}) * 1000000)::bigint",
    ),
    Column(
        "photo", "bytea", {**_TEXT, "connect.type": "bytes"}, lambda dice: dice.randbytes(dice.randrange(64))
    ),
    Column("note", "text", _TEXT, _text(80)),
    Column("code", "char(4)", _TEXT, lambda dice: dice.choice(("", "ab", "abcd"))),
    Column(
        "token",
        "uuid",
        {**_TEXT, "title": "io.debezium.data.Uuid"},
        lambda dice: f"{dice.getrandbits(128):032x}",
        "{}::text",
    ),
    Column(
        "doc",
        "jsonb",
        {**_TEXT, "title": "io.debezium.data.Json"},
        lambda dice: json.dumps({"a": [dice.random(), None, "ä"]}),
        "{}::text",
    ),
)
PLAIN = COLUMNS[len(KEY) :]


def _optional(schema: dict[str, Any]) -> dict[str, Any]:
    return {"oneOf": [{"type": "null"}, schema]}


def _record(columns: Sequence[Column], nullable: Sequence[Column]) -> dict[str, Any]:
    properties = {c.name: _optional(c.schema) if c in nullable else c.schema for c in columns}
    required = [c.name for c in columns if c not in nullable]
    indexed = {name: {**schema, "connect.index": n} for n, (name, schema) in enumerate(properties.items())}
    return {"type": "object", "properties": indexed, "required": required}


def envelope() -> dict[str, Any]:
    """The schema that a user would write of the table's changes."""
    row, long = _optional(_record(COLUMNS, PLAIN)), _optional(_integer(64))
    source = {"type": "object", "properties": {"ts_ms": long, "lsn": long}}
    parts = {"before": row, "after": row, "source": source, "op": _TEXT}
    return {"type": "object", "properties": parts, "required": ["op"]}


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
                told = json.loads(message.key() or b"{}")  # a truncate has none
                told = told.get("payload", told)
                seen.add((told.get("id"), told.get("kind")))
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
    for half, schema in (("key", _record(KEY, ())), ("value", envelope())):
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
    told = {f"{half}.converter.schemas.enable": schemas for half in ("key", "value")}
    told |= {f"{half}.converter": _JSON for half in ("key", "value")}
    told |= {"topic.creation.default.partitions": str(_PARTITIONS), **(config or {})}
    whole = connector_of(own.home, ports, name, **told)
    ask_connect(own.home, ports, "connectors", {"name": name, "config": whole})
    try:
        wait_for(lambda: connector_states(own.home, ports, name) == ["RUNNING", "RUNNING"])
        yield made
    finally:
        _forget(made, f"{url(ports, 'connect')}/connectors/{name}")


def _forget(made: Database, connector: str) -> None:
    headers = login_headers(made.own.home)
    request = urllib.request.Request(connector, headers=headers, method="DELETE")
    urllib.request.urlopen(request, timeout=30).close()
    slots = "pg_replication_slots WHERE slot_name = %s AND NOT active"
    free = f"SELECT pg_drop_replication_slot(slot_name) FROM {slots}"
    with made.connection as connection:
        connection.autocommit = True
        wait_for(lambda: connection.execute(free, [made.name]).fetchone())
