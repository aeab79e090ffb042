"""What the scenarios send: each wave is a landing, and each bug has a wave that comes by it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any

from kit.mutants.specs import DAY, RICH, WIDER
from kit.records.envelopes import captured
from kit.records.producing import HEADERS
from kit.records.topics import Topic
from kit.records.upserts import Upserts

__all__ = ["WAVES"]

_AT = 1_760_000_000_000
"""Milliseconds: when the first changes of keys were made."""

_PLAIN = "a wave of few changes would cost a transaction"

_TWICE = [*HEADERS, ("bytes", b"the last one counts")]


def append(topic: Topic) -> Iterator[None]:
    """Two versions of a schema in two partitions; some records are cut off, so that they are bad."""
    narrow, wide = topic.register(RICH), topic.register(WIDER)
    for wave in range(3):
        for partition in range(2):
            numbers = range(40 * wave + 20 * partition, 40 * wave + 20 * partition + 20)
            versions = [(wide, WIDER) if n % 3 else (narrow, RICH) for n in numbers]
            values = [topic.encode(_rich(n), *version) for n, version in zip(numbers, versions, strict=True)]
            cut = [v[:-1] if n % 9 == 5 else v for n, v in zip(numbers, values, strict=True)]
            topic.send(cut, partition, headers=_TWICE)
        yield


def expiry(topic: Topic) -> Iterator[None]:
    """Records of three days ago, and then some of which few are past their day: too few for a rewrite."""
    for wave, ages in enumerate(((3.0,), (1.05, 0.0))):
        for age in ages:
            values = [topic.encode({"side": "BUY", "quantity": n, "symbol": f"W{wave}"}) for n in range(10)]
            topic.send(values, timestamp=int((time.time() - age * DAY) * 1000), plain=_PLAIN)
        yield


def upsert(topic: Topic) -> Iterator[None]:
    """Keys that come, change, move between partitions with times of all orders, go, and come again."""
    changes = Upserts(topic)

    def send(numbers: Iterable[int], value: int | None, at: int, partition: int | None = None) -> None:
        made = [(f"k{n:02}", None if value is None else value + n) for n in numbers]
        changes.send(made, partition, timestamp=_AT + at, plain=_PLAIN)

    send(range(80), 100, 0)
    send(range(20, 26), 200, 5000, 0)  # within one landing the later one is in the smaller partition
    send(range(20, 26), 300, 3000, 1)
    send(range(30, 36), 400, 9000, 0)
    yield
    send(range(30, 33), 500, 9000, 1)  # a tie with rows of the table: the greater partition wins
    send(range(33, 36), 600, 2000, 1)  # older than the rows of the table
    send(range(40, 60, 4), None, 9000)
    send(range(41, 60, 4), 700, 9000)
    yield
    for number in (79, 0):  # the greatest key of all files alone, and the least one
        send([number], 800, 9500)
        yield
    send((1, 12, 42), 900, 9600)
    send((3, 62), None, 9600)
    yield
    send((40, 43), 1000, 9700)  # one of them was deleted
    yield


def cdc(topic: Topic) -> Iterator[None]:
    """Changes of a database's table; deletes come with tombstones, and without."""
    changes = captured(lambda **_: topic, "avro")
    for wave in range(3):
        changes.tombstones = wave != 1
        changes.send(((f"k{n:02}", 100 * wave + n) for n in range(wave, 30)), plain=_PLAIN)
        changes.send(((f"k{n:02}", None) for n in range(wave, 30, 4)), plain=_PLAIN)
        yield


def _rich(number: int) -> dict[str, Any]:
    return {
        "quantity": number, "amount": Decimal(number * 37 - 500) / 100, "at": 1_760_000_000_123_456 + number,
        "seen": 1_760_000_000_123 + number, "side": ("BUY", "SELL")[number % 2],
        "digest": bytes(range(number, number + 12)), "counts": {f"k{n}": n for n in range(number % 3)},
        "either": (None, number, f"t{number}")[number % 3], "symbol": f"S{number % 7}Z", "note": f"n{number}",
    }  # fmt: skip


WAVES: dict[str, Callable[[Topic], Iterator[None]]] = {
    "append": append, "expiry": expiry, "upsert": upsert, "vectors": upsert, "cdc": cdc,
}  # fmt: skip
"""By the word of the scenario."""
