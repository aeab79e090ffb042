"""Stock trades as Confluent's Datagen connector makes them (quickstart STOCK_TRADES).

The key is the symbol. The headers are those of the connector, as Kafka Connect writes them by default:
`SimpleHeaderConverter` turns a long into decimal text.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count as counted
from itertools import islice

from frazil.connections import Connections
from frazil.local.generators.producer import Headers, Record, produce_batches
from frazil.local.generators.resume import Origin, next_origin
from frazil.schemas.registry import WriterSchema
from frazil.schemas.subjects import register, version_like
from frazil.settings import Settings
from frazil.spec import TableSpec
from frazil.topics.provision import ensure_topic

__all__ = ["SCHEMA", "GeneratedReport", "generate_stock_trades", "trades"]

SCHEMA = """{
  "type": "record",
  "name": "StockTrade",
  "namespace": "ksql",
  "doc": "A hypothetical stock trade with some known test stock symbols.",
  "fields": [
    {"name": "side", "type": "string", "doc": "BUY or SELL."},
    {"name": "quantity", "type": "int", "doc": "Number of shares."},
    {"name": "symbol", "type": "string", "doc": "A test stock symbol."},
    {"name": "price", "type": "int", "doc": "Price in pennies."},
    {"name": "account", "type": "string", "doc": "The account of the trade."},
    {"name": "userid", "type": "string", "doc": "Who executed the trade."}
  ]
}
"""
"""The same text lies beside the pipeline of these trades, which the engine must not read."""

SIDES = ("BUY", "SELL")
QUANTITIES = range(1, 5000)
SYMBOLS = ("ZBZX", "ZJZZT", "ZTEST", "ZVV", "ZVZZT", "ZWZZT", "ZXZZT")
PRICES = range(5, 1000)
ACCOUNTS = ("ABC123", "LMN456", "XYZ789")
USERS = tuple(f"User_{n}" for n in range(1, 10))

_BATCH = 5000
_TICK = 0.05


@dataclass(frozen=True, slots=True)
class GeneratedReport:
    """What one call produced.

    Args:
        topic: Where to.
        records: How many arrived.
        bytes: Their keys and values.
        seconds: How long it took.
        schema_id: What they were written with.
    """

    topic: str
    records: int
    bytes: int
    seconds: float
    schema_id: int


def generate_stock_trades(
    settings: Settings,
    *,
    topic: str = "stock_trades",
    count: int | None = None,
    rate: float | None = None,
    seed: int | None = None,
    on_progress: Callable[[int], None] = lambda _: None,
    stop: threading.Event | None = None,
) -> GeneratedReport:
    """Produces trades; makes topic (6 partitions) and subject where they are missing.

    Args:
        settings: The environment.
        topic: Where to.
        count: How many; without it until `stop`.
        rate: How many a second; without it as fast as Kafka takes them.
        seed: The same seed gives the same trades.
        on_progress: Told from time to time how many were handed over.
        stop: Ends it early.

    Raises:
        DifferentError: The subject holds another schema.
        PartDownError: Kafka or the registry does not answer.
    """
    stop = stop or threading.Event()
    schema = _prepare(Connections(settings), topic)
    records = trades(random.Random(seed), schema.schema_id, next_origin(settings, topic))
    batches = _paced(islice(records, count), rate, stop)
    done = produce_batches(settings, topic, batches, on_progress=on_progress)
    return GeneratedReport(topic, done.records, done.bytes, done.seconds, schema.schema_id)


def trades(chance: random.Random, schema_id: int, origin: Origin) -> Iterator[Record]:
    """Endless trades, encoded.

    Every part has few values: encoded once and put together, a record costs 0.6 us, by a tenth of
    what an Avro writer takes.

    Args:
        chance: Where the values come from.
        schema_id: Stands in every value.
        origin: Where the headers go on.
    """
    magic = b"\0" + schema_id.to_bytes(4, "big")
    parts: Sequence[Sequence[bytes]] = (
        [magic + _text(side) for side in SIDES],
        [_int(quantity) for quantity in QUANTITIES],
        [_text(symbol) for symbol in SYMBOLS],
        [_int(price) for price in PRICES],
        [_text(account) + _text(user) for account in ACCOUNTS for user in USERS],
    )
    generation = ("task.generation", b"%d" % origin.generation)
    task = ("task.id", b"0")
    iterations = counted(origin.iteration)
    while True:
        for values in zip(*(chance.choices(part, k=_BATCH) for part in parts), strict=True):
            headers: Headers = [generation, task, ("current.iteration", b"%d" % next(iterations))]
            yield values[2][1:], b"".join(values), headers, None, None


def _prepare(connections: Connections, topic: str) -> WriterSchema:
    subject = f"{topic}-value"
    schema = version_like(connections.registry, subject, SCHEMA)
    ensure_topic(TableSpec(topic=topic), connections)
    return schema or register(connections.registry, subject, SCHEMA)


def _paced(records: Iterator[Record], rate: float | None, stop: threading.Event) -> Iterator[list[Record]]:
    """Batches of records at a rate, until there are no more or it is stopped."""
    begun, passed = time.monotonic(), 0
    while not stop.is_set():
        due = _BATCH if rate is None else int((time.monotonic() - begun) * rate) + 1 - passed
        batch = list(islice(records, max(0, due)))
        if due > 0 and not batch:
            return
        yield batch
        passed += len(batch)
        if rate is not None:
            stop.wait(max(_TICK, passed / rate - (time.monotonic() - begun)))


def _text(value: str) -> bytes:
    encoded = value.encode()
    return _int(len(encoded)) + encoded


def _int(value: int) -> bytes:
    """Avro's zigzag number of variable length."""
    left = (value << 1) ^ (value >> 63)
    found = bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    found.append(left)
    return bytes(found)
