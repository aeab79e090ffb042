"""Changes of a database by the lane, and where Spark shuffles them: the same rows, and the same numbers.

The order of what is drawn makes no sense: keys change their partition, clocks and logs go back, records of
the source come twice, lack things, or are none, and truncates stand anywhere.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from confluent_kafka import Producer

from frazil.connections import Connections
from frazil.kafka.clients import client_config
from frazil.landing.land import land
from frazil.landing.report import LandingReport
from frazil.landing.upsert.lane.job import UpsertLane
from frazil.spec.names import things
from frazil.spec.topic import TableSpec
from frazil.tables.spark.session import spark_name
from kit.records.envelopes import Captured, Written, captured
from kit.records.topics import MakeTopic, topic_maker
from kit.records.upserts import by_key

NAMESPACE = "landing_tests"
MODES: Mapping[str, Mapping[str, Any]] = {
    "hard": {},
    "soft": {"delete": "soft"},
    "log": {"delete": "soft", "order_by": "source.lsn"},
    "rows that move": {
        "delete": "soft",
        "partition_by": ["truncate(100, quantity)"],
        "sort_by": ["quantity"],
        "write": {"distribution": "hash"},
    },
}
OPS = ("put",) * 9 + ("delete",) * 3 + ("tombstone",) * 3 + ("nothing",)
SEED = int(os.environ.get("FRAZIL_TEST_SEED", "1"))
START = int(time.time() * 1000)  # the broker takes what is older than its retention


@pytest.fixture
def make_one(connections: Connections, fresh_name: str) -> MakeTopic:
    """Makes topics whose tables the REST catalog has: what is tested does not depend on the catalog."""
    return topic_maker(connections, fresh_name, NAMESPACE)


def drawn(made: Captured, chance: random.Random, count: int) -> Iterator[tuple[Any, ...]]:
    """Key, value, partition and timestamp of records."""
    for _ in range(count):
        key, op = f"k{chance.randrange(12)}", chance.choice(OPS)
        made.lsn = chance.randrange(1000, 1100)
        made.moment = START + chance.randrange(50)
        row = made.row(key, chance.randrange(1000))
        partition, at = chance.randrange(3), START + chance.randrange(40)
        match op:
            case "put":
                value: bytes | None = made.value(chance.choice("cru"), None, row)
            case "delete":
                value = made.value("d", row, None)
            case "tombstone":
                value = None
            case _:
                value = chance.choice([made.value("x", None, row), made.value("u", None, None)])
        yield made.key(key), value, partition, at


def send(made: Captured, chance: random.Random, count: int, truncates: bool) -> None:
    """Produces records, each with a timestamp of its own."""
    settings, name = made.topic.connections.settings, made.topic.name
    producer = Producer(client_config(settings))
    for key, value, partition, at in drawn(made, chance, count):
        producer.produce(name, value, key, partition, timestamp=at)
    if truncates:
        place, at = chance.randrange(3), START + chance.randrange(40)
        producer.produce(name, made.value("t", None, None), None, place, timestamp=at)
        for key, value, partition, at in drawn(made, chance, count // 4):
            producer.produce(name, value, key, partition, timestamp=at)
    assert producer.flush(60) == 0


def rows(spec: TableSpec, connections: Connections) -> list[dict[str, Any]]:
    table = connections.catalog.load_table(things(spec, connections.settings).table.identifier)
    rows_read: list[dict[str, Any]] = table.scan().to_arrow().to_pylist()
    return sorted(rows_read, key=lambda row: row["key"])


class Ids:
    """The row ids of a table of version 3: a row of a key keeps its own, and no other row ever gets it."""

    def __init__(self, spec: TableSpec, connections: Connections) -> None:
        self._sql = f"SELECT key, _row_id FROM {spark_name(things(spec, connections.settings).table)}"
        self._connections = connections
        self._known: dict[str, int] = {}
        self._ever: set[int] = set()

    def are_kept(self) -> bool:
        """Whether the rows that are there now have the ids that they should."""
        actual = by_key((row[0], row[1]) for row in self._connections.spark.sql(self._sql).collect())
        old = {key: row_id for key, row_id in self._known.items() if key in actual}
        new = [row_id for key, row_id in actual.items() if key not in old]
        assert {key: actual[key] for key in old} == old
        assert len({*new}) == len(new)
        assert not self._ever & {*new}
        self._known, self._ever = actual, self._ever | {*new}
        return True


def numbers(report: LandingReport) -> tuple[int, ...]:
    return report.records, report.inserted, report.updated, report.deleted, report.dead_letters


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("mode", "written"),
    [("hard", "json"), ("soft", "embedded"), ("log", "avro"), ("rows that move", "avro")],
)
def test_both_ways_leave_the_same_rows(
    make_one: MakeTopic, monkeypatch: pytest.MonkeyPatch, mode: str, written: Written
) -> None:
    made, chance = captured(make_one, written, partitions=3, **MODES[mode]), random.Random(SEED)
    topic, changes = made.topic, {"on_bad_record": "dead_letter", "format_version": 3}
    connections = topic.connections
    specs = [topic.spec.model_copy(update={"table": f"{topic.name}_{n}", **changes}) for n in ("one", "two")]
    ids = [Ids(spec, connections) for spec in specs]
    for number in range(4):
        send(made, chance, 60, truncates=number in (1, 3))
        with monkeypatch.context() as by_lane:
            by_lane.setattr("frazil.landing.land.write_upserts", None)
            one = land(specs[0], connections)
        with monkeypatch.context() as through_spark:
            through_spark.setattr(UpsertLane, "write", lambda *_: None)
            two = land(specs[1], connections)

        assert rows(specs[0], connections) == rows(specs[1], connections), number
        assert numbers(one) == numbers(two)
        assert all(of.are_kept() for of in ids), number
