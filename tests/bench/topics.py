"""Topics to measure with: the generator's trades, and records of 1 KB with 20 fields."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from typing import Any

import fastavro
from confluent_kafka.admin import NewTopic
from confluent_kafka.schema_registry import Schema

from frazil.connections import Connections
from frazil.local.generators.producer import Record, produce
from frazil.local.generators.resume import Origin
from frazil.local.generators.stock_trades import SCHEMA, trades

PARTITIONS = 6
WIDE: dict[str, Any] = {
    "type": "record",
    "name": "Wide",
    "fields": [
        *({"name": f"text_{n}", "type": "string"} for n in range(10)),
        *({"name": f"long_{n}", "type": "long"} for n in range(4)),
        *({"name": f"double_{n}", "type": "double"} for n in range(3)),
        *({"name": f"flag_{n}", "type": "boolean"} for n in range(2)),
        {"name": "maybe", "type": ["null", "string"], "default": None},
    ],
}
_DIFFERENT = 2000
"""Wide records that are encoded; they come again in turn."""

Place = Callable[[int], int]
Make = Callable[[int], Iterator[Record]]


def spread(number: int) -> int:
    """The same number of records in every partition."""
    return number % PARTITIONS


def one_place(_: int) -> int:
    """All records in one of the partitions."""
    return 3


def trade_records(schema_id: int) -> Iterator[Record]:
    """Trades, 33 bytes each."""
    return trades(random.Random(1), schema_id, Origin())


def wide_records(schema_id: int) -> Iterator[Record]:
    """Records of 1 KB."""
    chance = random.Random(1)
    schema = fastavro.parse_schema(WIDE)
    magic = b"\0" + schema_id.to_bytes(4, "big")
    values = [magic + _encoded(schema, _wide(chance)) for _ in range(_DIFFERENT)]
    headers = [("source", b"bench")]
    return ((b"%d" % n, value, headers, None, None) for n, value in enumerate(cycle(values)))


@contextmanager
def topic_of(connections: Connections, name: str, make: Make, count: int, place: Place) -> Iterator[str]:
    """A topic with so many records in it, deleted in the end."""
    wanted = NewTopic(name, PARTITIONS, config={"retention.ms": "-1"})
    for future in connections.admin.create_topics([wanted]).values():
        future.result(30)
    try:
        add(connections, name, make, count, place)
        yield name
    finally:
        for future in connections.admin.delete_topics([name]).values():
            future.result(30)
        connections.registry.delete_subject(f"{name}-value")


def add(connections: Connections, topic: str, make: Make, count: int, place: Place) -> None:
    """Produces records, each to the partition that `place` gives for its number."""
    schema = SCHEMA if make is trade_records else json.dumps(WIDE)
    schema_id = connections.registry.register_schema(f"{topic}-value", Schema(schema, "AVRO"))
    placed = (
        (key, value, headers, place(number), None)
        for number, (key, value, headers, *_) in enumerate(islice(make(schema_id), count))
    )
    produce(connections.settings, topic, placed)


def _wide(chance: random.Random) -> dict[str, Any]:
    return {
        **{f"text_{n}": chance.randbytes(42).hex() for n in range(10)},
        **{f"long_{n}": chance.randrange(1 << 40) for n in range(4)},
        **{f"double_{n}": chance.random() for n in range(3)},
        **{f"flag_{n}": chance.random() < 0.5 for n in range(2)},
        "maybe": chance.choice([None, "x" * 80]),
    }


def _encoded(schema: Any, value: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, schema, value)
    return stream.getvalue()
