"""`python tests/bench/peers.py`: other ways from Kafka to Iceberg, beside Frazil, on the same records.

Spark's Structured Streaming as its guide has it (`from_avro`, checkpoint, `availableNow`), Kafka Connect with
Iceberg's own sink (`connect_sink.py`, Avro only), and a loop in Python (confluent-kafka, fastavro or `json`,
`Table.append` of PyIceberg, offsets committed after each append). All take turns on one stack, into tables of
the same columns; the sink leaves the key, the headers and two columns of Kafka's null. Medians count: CPU
seconds of Spark's servers, of Connect's worker and of this process. What each promises when it is killed is
no part of it: docs/comparison.md. Prints a table, and with --page FILE writes the same with versions and
settings, as `make peers` does: docs/peers.md.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import bare
import fastavro
import pyarrow as pa
from confluent_kafka import Consumer, TopicPartition
from connect_sink import COMMITS, Sink, versions
from meter import Cost, Meter, medians
from pyiceberg.exceptions import NoSuchTableError
from rich.console import Console
from rich.table import Table
from samples import NARROW, WIDE, Sample, sample
from stamina.instrumentation import set_on_retry_hooks
from topics import PARTITIONS, spread, topic_of

from frazil.clients import Clients
from frazil.kafka.clients import client_config
from frazil.landing.land import land
from frazil.settings.profile import Settings
from frazil.spec.names import TableName, things
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.spark.session import live_rows, spark_name

NAMESPACE = "bench"
BATCH = 100_000
"""Records that the loop appends at once: more is quicker, and holds more in memory."""

SAMPLES = (
    (sample("avro", NARROW, "Avro, 6 fields"), 1_000_000),
    (sample("avro", WIDE, "Avro, 1 KB"), 200_000),
    (sample("json", NARROW, "JSON, 6 fields"), 1_000_000),
    (sample("json", WIDE, "JSON, 1 KB"), 200_000),
)
SINK = "Kafka Connect, Iceberg's sink"
"""It lands Avro only: no converter on Maven Central reads JSON behind Confluent's prefix."""
console = Console(stderr=True, width=None if sys.stderr.isatty() else 130)


@dataclass(frozen=True, slots=True)
class Result:
    """What one way took for one sample."""

    sample: str
    records: int
    way: str
    cost: Cost
    ratio: float

    @property
    def cells(self) -> tuple[str, ...]:
        """For the table."""
        each = self.cost.cpu / self.records * 1e6
        speed = self.records / self.cost.seconds
        return (
            self.sample,
            f"{self.records:,}",
            self.way,
            f"{each:.1f}",
            f"{speed:,.0f}",
            f"{self.ratio:.2f}",
        )


HEADS = ("sample", "records", "way", "CPU s per million", "records/s", "CPU, to Frazil")


class Peers:
    """The ways, on one stack.

    Args:
        settings: Of the stack.
        repeats: Turns that count, after one that does not.
        folder: For checkpoints.
        sink: Its worker runs.
    """

    def __init__(self, connections: Clients, repeats: int, folder: Path, sink: Sink) -> None:
        self._connections, self._repeats, self._folder, self._sink = connections, repeats, folder, sink
        self._plain = bare.plain(connections.settings)
        self._meter = Meter(sink.process)
        self._ways: dict[str, Callable[[TableSpec, TableName], object]] = {
            "Frazil": self._frazil,
            "Spark Structured Streaming": self._streaming,
            SINK: lambda spec, name: sink.land(spec.topic, name),
            "loop with PyIceberg": self._loop,
        }

    def compare(self, sample: Sample, count: int) -> list[Result]:
        """All ways in turn."""
        console.print(f"{sample.name}: producing {count:,} records")
        with topic_of(self._connections, f"bench_{uuid.uuid4().hex[:8]}", sample, count, spread) as topic:
            ways = [way for way in self._ways if way != SINK or sample.kind == "avro"]
            turns = [self._turn(ways, topic, count, n) for n in range(1 + self._repeats)][1:]
        costs = {way: medians([turn[way] for turn in turns]) for way in ways}
        ours = costs["Frazil"].cpu
        return [Result(sample.name, count, way, cost, cost.cpu / ours) for way, cost in costs.items()]

    def _turn(self, ways: Sequence[str], topic: str, count: int, turn: int) -> dict[str, Cost]:
        first = turn % len(ways)  # none is always the last
        return {way: self._once(way, topic, count, turn) for way in (*ways[first:], *ways[:first])}

    def _once(self, way: str, topic: str, count: int, turn: int) -> Cost:
        table = f"{topic}_{list(self._ways).index(way)}_{turn}"
        spec = TableSpec(topic=topic, namespace=NAMESPACE, table=table)
        name = things(spec, self._connections.settings).table
        bare.prepare(self._plain, spec, name)
        try:
            cost = self._meter.cost(partial(self._ways[way], spec, name))
            head = TableHandle(self._connections.catalog, name).load().current_snapshot()
            live = live_rows(self._connections, name, head)
            assert live == count, f"{way}: {live} rows of {count} records"
        finally:
            with suppress(NoSuchTableError):
                self._connections.catalog.purge_table(name.identifier)
        console.print(f"  {way} {turn}: {cost.cpu:.2f} CPU s, {cost.seconds:.2f} s")
        return cost

    def _frazil(self, spec: TableSpec, _: TableName) -> None:
        land(spec, self._connections)

    def _streaming(self, spec: TableSpec, name: TableName) -> None:
        rows = bare.decoded(self._plain, spec, bare.stream(self._plain, spec.topic))
        writer = rows.writeStream.format("iceberg").trigger(availableNow=True)
        checkpoint = f"file://{self._folder / name.table}"
        # from_avro's columns may be null, the table's may not: a batch is told so by Spark, a stream is not.
        options = {"checkpointLocation": checkpoint, "fanout-enabled": "true", "check-nullability": "false"}
        writer.options(**options).toTable(spark_name(name)).awaitTermination()

    def _loop(self, spec: TableSpec, name: TableName) -> None:
        table = TableHandle(self._connections.catalog, name).load()
        schema = table.schema().as_arrow()
        written = bare.schema_of(self._connections, spec)
        read = _READ[written.kind](written.text)
        records = _consumed(self._connections.settings, spec.topic)
        for consumer, batch in records:
            rows = [_row(message, read(message.value()[5:])) for message in batch]
            table.append(pa.Table.from_pylist(rows, schema=schema))
            consumer.commit(asynchronous=False)


def _consumed(settings: Settings, topic: str) -> Iterator[tuple[Consumer, list[Any]]]:
    """Batches of a topic's records until its end, with the consumer to commit them by."""
    group = {"group.id": uuid.uuid4().hex, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer = Consumer({**client_config(settings), **group, "enable.partition.eof": False})
    consumer.subscribe([topic])
    try:
        left = _records_in(consumer, topic)
        while left:
            batch: list[Any] = []
            while len(batch) < min(BATCH, left):
                batch += consumer.consume(min(10_000, min(BATCH, left) - len(batch)), 1.0)
            left -= len(batch)
            yield consumer, batch
    finally:
        consumer.close()


def _records_in(consumer: Consumer, topic: str) -> int:
    marks = (consumer.get_watermark_offsets(TopicPartition(topic, p), 10) for p in range(PARTITIONS))
    return sum(high - low for low, high in marks)


def _of_avro(schema_text: str) -> Callable[[bytes], dict[str, Any]]:
    """What reads a payload by its schema."""
    schema = fastavro.parse_schema(json.loads(schema_text))
    return lambda payload: fastavro.schemaless_reader(io.BytesIO(payload), schema)  # type: ignore[return-value]


_READ: dict[str, Callable[[str], Callable[[bytes], dict[str, Any]]]] = {
    "AVRO": _of_avro,
    "JSON": lambda _: json.loads,
}


def _row(message: Any, fields: dict[str, Any]) -> dict[str, Any]:
    kind, at = message.timestamp()
    return {
        "key": message.key(),
        **fields,
        "$$topic": message.topic(),
        "$$partition": message.partition(),
        "$$headers": dict(message.headers() or []),
        "$$leader-epoch": message.leader_epoch(),
        "$$offset": message.offset(),
        "$$timestamp": datetime.fromtimestamp(at / 1000, UTC),
        "$$timestamp-type": "CREATE_TIME" if kind == 1 else "LOG_APPEND_TIME",
    }


_SETTINGS = (
    ("Frazil", "as it comes: [the Arrow lane](landing.md#the-arrow-lane), all checks on"),
    (
        "Spark Structured Streaming",
        "as its guide has it: `from_avro`, a checkpoint, the trigger `availableNow`, `fanout-enabled`",
    ),
    (
        SINK,
        "Apicurio's Avro converter, one worker, two tasks,"
        f" a commit each {COMMITS} s, most of which it waits;"
        " it leaves the key, the headers and two columns of Kafka's null. No JSON: its converters take none"
        " behind Confluent's prefix",
    ),
    (
        "loop with PyIceberg",
        f"confluent-kafka, fastavro or `json`, `Table.append` of {BATCH:,} records at a time,"
        " offsets committed after",
    ),
)

_PAGE = """# What other ways from Kafka to Iceberg cost

`make peers` lands the same records by four ways in turn, on one stack and one machine, into tables
of the same columns in a REST catalog, and writes this page. Medians of {turns} turns, after one that does not
count, of {day}, on {cores} cores. CPU seconds are those of Spark's servers, of Connect's worker, and of the
process that lands; not of the broker, the registry, or S3.

{table}

{settings}

With {used}.

They do not promise the same: [comparison](comparison.md). {note}
"""


def page(results: Sequence[Result], repeats: int, note: str) -> str:
    """The results with what they were measured with."""
    parts = ("pyspark", "pyiceberg", "confluent-kafka", "fastavro", "pyarrow")
    used = [f"{part} {version(part)}" for part in parts]
    return (
        _PAGE.format(
            turns=repeats,
            day=datetime.now(UTC).date(),
            cores=os.cpu_count(),
            table=_table(HEADS, [result.cells for result in results]),
            settings=_table(("way", "settings"), _SETTINGS),
            used=", ".join([*used, *versions()]),
            note=note,
        ).rstrip()
        + "\n"
    )


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (f"| {' | '.join(cells)} |" for cells in rows)
    return "\n".join((f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *lines))


def main() -> int:
    """Measures everything."""
    set_on_retry_hooks([])  # by default each retry is a line on stdout
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the records, once")
    parser.add_argument("--page", type=Path, help="where to write the results as Markdown")
    parser.add_argument("--note", default="", help="a sentence more for the page, such as what else ran")
    options = parser.parse_args()
    scale, repeats = (10, 1) if options.quick else (1, 3)
    connections = Clients(Settings.load())
    with tempfile.TemporaryDirectory() as folder, Sink(connections, Path(folder)) as sink:
        peers = Peers(connections, repeats, Path(folder), sink)
        results = [line for each, count in SAMPLES for line in peers.compare(each, count // scale)]
    table = Table(*HEADS)
    for result in results:
        table.add_row(*result.cells)
    console.print(table)
    if options.page:
        options.page.write_text(page(results, repeats, options.note))
    return 0


if __name__ == "__main__":
    sys.exit(main())
