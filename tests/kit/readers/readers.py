"""Readers that count a table's rows again and again while others write to it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.tables.spark.session import open_spark, spark_name
from kit.readers.opened import table_of
from kit.records.topics import Topic

Seen = tuple[int, int]
"""Rows, and the sum of their quantities."""


@dataclass
class Readings:
    """What two independent engines read, in order, and what kept them from it."""

    pyiceberg: list[Seen] = field(default_factory=list)
    spark: list[Seen] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)

    @property
    def all(self) -> list[Seen]:
        """Of both."""
        return self.pyiceberg + self.spark


@contextmanager
def reading(topic: Topic, pause: float = 0.2) -> Iterator[Readings]:
    """Reads while the body runs, PyIceberg and a Spark session of its own in turn; at least once each."""
    readings, over = Readings(), threading.Event()
    session = Clients(topic.connections.settings, open_spark)

    def read() -> None:
        try:
            while True:
                readings.pyiceberg.append(_by_pyiceberg(topic))
                readings.spark.append(_by_spark(topic, session))
                if over.wait(pause):
                    return
        except Exception as e:  # noqa: BLE001 - told by the test
            readings.failures.append(e)

    thread = threading.Thread(target=read, name="reader")
    thread.start()
    try:
        yield readings
    finally:
        over.set()
        thread.join()


def _by_pyiceberg(topic: Topic) -> Seen:
    quantities = table_of(topic).scan(selected_fields=("quantity",)).to_arrow()["quantity"]
    return len(quantities), sum(quantities.to_pylist())


def _by_spark(topic: Topic, session: Connections) -> Seen:
    query = f"SELECT count(1), sum(quantity) FROM {spark_name(topic.things.table)}"
    count, total = session.spark.sql(query).collect()[0]
    return count, total or 0
