"""The ways of `peers.py` while records come in rounds: many small commits, and changes of rows by key.

Each way stays up, as it would with records that come all the time: Frazil and the loop as one process, Spark
as a query that runs on, Connect as a connector. A round is what a way takes from the moment when its records
are in the topic until they are in the table; its medians count, but for the first rounds of each way.
Iceberg's sink appends only, so by key there are three ways; Spark's is the batch job with `MERGE INTO` that
`upserts.py` has, of the records since its last offsets.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import bare
import pyarrow as pa
from accounts import Case, Changes, anywhere
from connect_sink import Sink
from figures import console
from loop import Reader, row_of
from meter import Cost, Meter, medians
from pyiceberg.exceptions import NoSuchTableError
from samples import NARROW, Sample, sample
from topics import PARTITIONS, add, spread, topic_of
from upserts import Bench

from frazil.clients import Clients
from frazil.kafka.facts import topic_fact
from frazil.landing.land import land
from frazil.spec.names import TableName, things
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.spark.session import live_rows, spark_name
from frazil_local.generators.producer import Record

__all__ = ["HEADS", "Round", "commits", "upserts"]

NAMESPACE = "bench"
FIRST = 2
"""Rounds of each way that do not count."""

HEADS = ("rounds", "way", "CPU s a round", "seconds a round", "CPU, to Frazil")

Bring = Callable[[], object]
Way = Callable[[TableSpec, TableName], "Iterator[Bring]"]


@dataclass(frozen=True, slots=True)
class Round:
    """What one way took for a round."""

    rounds: str
    way: str
    cost: Cost
    ratio: float

    @property
    def cells(self) -> tuple[str, ...]:
        """For the table."""
        return (
            self.rounds,
            self.way,
            f"{self.cost.cpu:.2f}",
            f"{self.cost.seconds:.2f}",
            f"{self.ratio:.2f}",
        )


class _Flow:
    """A sample whose records go on where they were: drawing them takes seconds."""

    def __init__(self, sample: Sample) -> None:
        self.kind, self.schemas, self._sample = sample.kind, sample.schemas, sample
        self._flow: Iterator[Record] | None = None

    def records(self, schema_ids: Sequence[int]) -> Iterator[Record]:
        """Those that nobody took."""
        self._flow = self._flow or self._sample.records(schema_ids)
        return self._flow


def commits(connections: Clients, sink: Sink, folder: Path, rounds: int, records: int) -> list[Round]:
    """Rounds of so many records, which each way appends."""
    meter, plain = Meter(sink.process), bare.plain(connections.settings)
    narrow: Sample = sample("avro", NARROW, "Avro, 6 fields")

    @contextmanager
    def ours(spec: TableSpec, _: TableName) -> Iterator[Bring]:
        yield partial(land, spec, connections)

    @contextmanager
    def streaming(spec: TableSpec, name: TableName) -> Iterator[Bring]:
        rows = bare.decoded(plain, spec, bare.stream(plain, spec.topic))
        at = f"file://{folder / name.table}"
        options = {"checkpointLocation": at, "fanout-enabled": "true", "check-nullability": "false"}
        query = rows.writeStream.format("iceberg").options(**options).toTable(spark_name(name))
        try:
            yield query.processAllAvailable
        finally:
            query.stop()

    @contextmanager
    def loop(spec: TableSpec, name: TableName) -> Iterator[Bring]:
        with _reading(connections, spec, name) as read:

            def bring() -> None:
                table = TableHandle(connections.catalog, name).load()
                table.append(read(records))

            yield bring

    ways = {
        "Frazil": ours,
        "Spark Structured Streaming": streaming,
        "Kafka Connect, Iceberg's sink": lambda spec, name: sink.running(spec.topic, name),
        "loop with PyIceberg": loop,
    }
    costs = {}
    for number, (way, opened) in enumerate(ways.items()):
        topic_name = f"bench_{uuid.uuid4().hex[:8]}"
        with topic_of(connections, topic_name, narrow, 0, spread) as topic:
            spec = TableSpec(topic=topic, namespace=NAMESPACE, table=f"{topic}_{number}")
            name = things(spec, connections.settings).table
            bare.prepare(plain, spec, name)
            more = partial(add, connections, topic, _Flow(narrow), records, spread)
            with _gone_after(connections, name), opened(spec, name) as bring:
                costs[way] = _measured(meter, way, rounds, more, bring)
                head = TableHandle(connections.catalog, name).load().current_snapshot()
                assert live_rows(connections, name, head) == (rounds + FIRST) * records, way
    return _compared(f"{rounds} of {records:,} records, Avro, 6 fields", costs)


def upserts(connections: Clients, rounds: int, case: Case) -> list[Round]:
    """Rounds of changes, which each way brings into a table by key."""
    return _Upserts(connections, rounds, case).compared()


ACCOUNTS = Case("accounts", 200_000, 500, anywhere)
"""Changes of one round, of a table with so many rows."""


class _Upserts(Bench):
    """The same tables as `upserts.py` has, and one way more."""

    def __init__(self, connections: Clients, rounds: int, case: Case) -> None:
        super().__init__(connections.settings, 1, rounds)
        self._case = case

    def compared(self) -> list[Round]:
        """All ways, one after the other."""
        ways = {
            "Frazil": self._landing,
            "Spark, MERGE INTO": self._merging,
            "loop with PyIceberg": self._loop,
        }
        costs = {way: self._way(way, bring) for way, bring in ways.items()}
        case = self._case
        return _compared(f"{self._repeats} of {case.changes:,} changes, of {case.rows:,} rows", costs)

    def _way(self, way: str, opened: Way) -> list[Cost]:
        case, seeds = self._case, iter(range(2, 1000))
        with (
            self._topic(replace(case, changes=1)) as topic,
            self._table(case, topic, way[:1].lower()) as (spec, name),
        ):

            def more() -> None:
                add(self._connections, topic, Changes(case, next(seeds)), case.changes, spread)

            with contextmanager(opened)(spec, name) as bring:
                costs = _measured(self._meter, way, self._repeats, more, bring)
            self._compare(name, case.rows)
        return costs

    def _landing(self, spec: TableSpec, name: TableName) -> Iterator[Bring]:
        yield partial(self._ours, spec, name)

    def _merging(self, spec: TableSpec, name: TableName) -> Iterator[Bring]:
        ends = self._ends(spec.topic)

        def bring() -> None:
            nonlocal ends
            before, ends = ends, self._ends(spec.topic)
            self._merge(spec, name, json.dumps({spec.topic: before}))

        yield bring

    def _ends(self, topic: str) -> dict[str, int]:
        ends = topic_fact(self._connections.admin, topic).end
        return {str(partition): ends.get(partition, 0) for partition in range(PARTITIONS)}

    def _loop(self, spec: TableSpec, name: TableName) -> Iterator[Bring]:
        with _reading(self._connections, spec, name) as read:
            read(1)  # the record that made the table

            def bring() -> None:
                changes = read(self._case.changes)
                last = {key: nth for nth, key in enumerate(changes["id"].to_pylist())}
                table = TableHandle(self._connections.catalog, name).load()
                table.upsert(changes.take(sorted(last.values())), join_cols=["id"])

            yield bring


@contextmanager
def _reading(connections: Clients, spec: TableSpec, name: TableName) -> Iterator[Callable[[int], pa.Table]]:
    """Gives the next so many records of a topic as rows, and commits the offsets of those before."""
    schema = TableHandle(connections.catalog, name).load().schema().as_arrow()
    written = bare.schema_of(connections, spec)
    with Reader(connections.settings, spec.topic, written) as reader:
        yield lambda count: pa.Table.from_pylist(
            [row_of(message, fields) for message, fields in reader.next(count)], schema=schema
        )


def _measured(meter: Meter, way: str, rounds: int, more: Bring, bring: Bring) -> list[Cost]:
    costs = []
    for _ in range(FIRST + rounds):
        more()
        costs.append(meter.cost(bring))
    kept = costs[FIRST:]
    middle = medians(kept)
    console.print(f"  {way}: {middle.cpu:.2f} CPU s, {middle.seconds:.2f} s a round")
    return kept


def _compared(rounds: str, costs: dict[str, list[Cost]]) -> list[Round]:
    middle = {way: medians(own) for way, own in costs.items()}
    ours = middle["Frazil"].cpu
    return [Round(rounds, way, cost, cost.cpu / ours) for way, cost in middle.items()]


@contextmanager
def _gone_after(connections: Clients, name: TableName) -> Iterator[None]:
    try:
        yield
    finally:
        with suppress(NoSuchTableError):
            connections.catalog.purge_table(name.identifier)
