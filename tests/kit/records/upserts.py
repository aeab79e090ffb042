"""Changes of rows on a Kafka topic, and a dictionary that knows what the table must hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from kit.records.producing import Sent, send
from kit.records.topics import MakeTopic, Topic

K, V = TypeVar("K"), TypeVar("V")

Change = tuple[str, int | None]
"""A key, and its new quantity; None: the row goes."""


@dataclass
class Upserts:
    """A topic of changes, and what the newest ones leave."""

    topic: Topic
    rows: dict[str, int] = field(default_factory=dict)
    sent: int = 0

    def send(
        self, changes: Iterable[Change], partition: int | None = None, *, plain: str = "", **more: Any
    ) -> list[Change]:
        """Produces changes in a transaction, behind one that is aborted; `plain`: why in none.

        A key's partition follows from it, unless one is given. Returns the change that each record says.
        """
        topic, schema_id = self.topic, self.topic.register(self.topic.schema)
        partitions = topic.partitions
        sent_changes, records = list(changes), list[Sent]()
        for key, quantity in sent_changes:
            value = None if quantity is None else self.value(quantity, schema_id)
            place = sum(key.encode()) % partitions if partition is None else partition
            records.append((key.encode(), value, place))
            self.sent += 1
            self.rows |= {} if quantity is None else {key: quantity}
            if quantity is None:
                self.rows.pop(key, None)
        send(topic.connections.settings, topic.name, records, plain=plain, aborted="ahead", **more)
        return sent_changes

    def value(self, quantity: int, schema_id: int) -> bytes:
        return self.topic.encode({"side": "BUY", "quantity": quantity, "symbol": "Z"}, schema_id)

    def rows_by_key(self) -> Mapping[str, int]:
        """What the table holds, as PyIceberg reads it; each key once."""
        return by_key((r["key"], r["quantity"]) for r in self.topic.rows())


def by_key(rows: Iterable[tuple[K, V]]) -> dict[K, V]:
    """Rows by key; fails where a key is there twice."""
    every = list(rows)
    rows_by_key = dict(every)
    assert len(rows_by_key) == len(every), "a key has two rows"
    return rows_by_key


def upserts(make_topic: MakeTopic, partitions: int = 2, **spec: Any) -> Upserts:
    """A topic of its own, whose keys are text."""
    return Upserts(make_topic(partitions=partitions, mode="upsert", key_format="string", **spec))
