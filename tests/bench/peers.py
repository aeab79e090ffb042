"""`python tests/bench/peers.py`: other ways from Kafka to Iceberg, beside Frazil, on the same records.

Spark's Structured Streaming as its guide has it (`from_avro`, checkpoint, `availableNow`), Kafka Connect with
Iceberg's own sink (`connect_sink.py`, Avro only), and a loop in Python (confluent-kafka, fastavro or `json`,
`Table.append` of PyIceberg, offsets committed after each append). All take turns on one stack, into tables of
the same columns; the sink leaves the key, the headers and two columns of Kafka's null. Medians count: CPU
seconds of Spark's servers, of Connect's worker and of this process. What each promises when it is killed is
no part of it: docs/comparison.md. `peer_rounds.py` has what records cost that come in small rounds, and
changes by key. Prints tables, and with --page FILE writes the same with versions and settings, as `make
peers` does: docs/peers.md. With --only one of the two parts is measured, and the page's other part stays.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path

import bare
import peer_rounds
import pyarrow as pa
from confluent_kafka import Consumer, TopicPartition
from connect_sink import COMMITS, Sink, versions
from loop import Reader, row_of
from meter import Cost, Meter, medians
from pyiceberg.exceptions import NoSuchTableError
from rich.console import Console
from rich.table import Table
from samples import NARROW, WIDE, Sample, sample
from stamina.instrumentation import set_on_retry_hooks
from topics import PARTITIONS, spread, topic_of

from frazil.clients import Clients
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
ROUNDS, RECORDS = 12, 1_000
"""Rounds that count, and the records of each; by key half of the rounds."""

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
        with Reader(
            self._connections.settings, spec.topic, bare.schema_of(self._connections, spec)
        ) as reader:
            left = _records_in(reader.consumer, spec.topic)
            while left:
                rows = [row_of(message, fields) for message, fields in reader.next(min(BATCH, left))]
                table.append(pa.Table.from_pylist(rows, schema=schema))
                left -= len(rows)
            reader.consumer.commit(asynchronous=False)


def _records_in(consumer: Consumer, topic: str) -> int:
    marks = (consumer.get_watermark_offsets(TopicPartition(topic, p), 10) for p in range(PARTITIONS))
    return sum(high - low for low, high in marks)


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


_WHILE = "## While records come"

_ROUNDS = """
{table}

Medians of a round, from the moment when its records are in the topic until they are in the table, of {day}
on {cores} cores; the first {first} rounds of each way do not count. Each way stays up, as it would: Frazil
and the loop are one process, Spark's stream a query that runs on, Connect a connector. A round of Connect's
sink waits for its next commit, each {commits} s; its CPU is that of the worker meanwhile.

A loop is the least that a small commit can take: it appends what it has read. It does not look whether the
topic was recreated, whether records are lost, or whether somebody else landed them, and where it dies
between its append and its offsets, it lands records twice.

By key Iceberg's sink has no way: it only appends. `MERGE INTO` is the batch job that many teams write, of the
records since its last offsets: the last change of each key, `WHEN MATCHED THEN UPDATE SET *`. The loop takes
`Table.upsert` of PyIceberg, on the key's column. {note}
"""


def rounds_text(rounds: Sequence[peer_rounds.Round], note: str) -> str:
    """What rounds took, for the page."""
    cells = [each.cells for each in rounds]
    text = _ROUNDS.format(
        table=_table(peer_rounds.HEADS, cells), day=datetime.now(UTC).date(), cores=os.cpu_count(),
        first=peer_rounds.FIRST, commits=COMMITS, note=note,
    )  # fmt: skip
    return text.rstrip() + "\n"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (f"| {' | '.join(cells)} |" for cells in rows)
    return "\n".join((f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *lines))


def main() -> int:
    """Measures everything."""
    set_on_retry_hooks([])  # by default each retry is a line on stdout
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the records, once")
    parser.add_argument("--page", type=Path, help="where to write the results as Markdown")
    parser.add_argument("--only", choices=("records", "rounds"), help="one part; the page's other one stays")
    parser.add_argument("--note", default="", help="a sentence more for the page, such as what else ran")
    options = parser.parse_args()
    scale, repeats = (10, 1) if options.quick else (1, 3)
    connections = Clients(Settings.load())
    with tempfile.TemporaryDirectory() as folder, Sink(connections, Path(folder)) as sink:
        peers = Peers(connections, repeats, Path(folder), sink)
        samples = SAMPLES if options.only != "rounds" else ()
        results = [line for each, count in samples for line in peers.compare(each, count // scale)]
        rounds = []
        if options.only != "records":
            many = ROUNDS // scale
            rounds += peer_rounds.commits(connections, sink, Path(folder), many, RECORDS)
            rounds += peer_rounds.upserts(connections, many // 2, peer_rounds.ACCOUNTS)
    _print(HEADS, [each.cells for each in results])
    _print(peer_rounds.HEADS, [each.cells for each in rounds])
    if options.page:
        first, _, second = options.page.read_text().partition(f"\n{_WHILE}\n")
        first = page(results, repeats, options.note) if results else first
        second = rounds_text(rounds, options.note) if rounds else second
        options.page.write_text(f"{first}\n{_WHILE}\n{second}" if second else first)
    return 0


def _print(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    if rows:
        table = Table(*heads)
        for cells in rows:
            table.add_row(*cells)
        console.print(table)


if __name__ == "__main__":
    sys.exit(main())
