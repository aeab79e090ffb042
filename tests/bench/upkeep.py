"""`make bench`, its second half: what a compaction costs, and what it costs the landings beside it.

Compaction: two tables with the same few hundred small files, one put in order by Frazil, one by a plain
`rewrite_data_files` over the whole table; both take turns, and are rolled back in between. Landings: the
same records alone, and beside a compaction of another table. Prints a table on stderr and one line of JSON
on stdout; exits with 1 where a target is missed, but not with --quick.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from statistics import median

from figures import Line, console, show
from meter import Cost, Meter, medians
from pyiceberg.table import Table as IcebergTable
from samples import Trades
from stamina.instrumentation import set_on_retry_hooks
from topics import spread, topic_of

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.landing.land import land
from frazil.settings.profile import Settings
from frazil.spec.names import TableName, things
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.spark.session import spark_name
from frazil.upkeep.compaction.run import compact

NAMESPACE = "bench"
CPU_TARGET, LOSS_TARGET = 1.15, 0.25


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured.

    Args:
        files: Small files of a table.
        rows: Of each file, of about 500 bytes.
        records: Of a landing.
        repeats: Runs of each kind that count, after one that does not.
    """

    files: int
    rows: int
    records: int
    repeats: int


WHOLE = Size(files=300, rows=2_000, records=2_000_000, repeats=3)
QUICK = Size(files=40, rows=1_000, records=200_000, repeats=1)


class SmallFiles:
    """A table of many small files, that can be made so again."""

    def __init__(self, connections: Connections, size: Size) -> None:
        table = f"upkeep_{uuid.uuid4().hex[:8]}"
        self.spec = TableSpec(topic=table, namespace=NAMESPACE)
        self._connections = connections
        self.name: TableName = things(self.spec, connections.settings).table
        connections.catalog.create_namespace_if_not_exists(NAMESPACE)
        # Hexadecimal digests: no codec makes them smaller than half, and both tables get the same.
        rows = connections.spark.range(0, size.files * size.rows, 1, size.files).selectExpr(
            "id", *(f"sha2(concat(id, '{n}'), 512) AS text_{n}" for n in range(4)), "rand(1) AS ratio"
        )
        writer = rows.writeTo(spark_name(self.name)).using("iceberg")
        writer.tableProperty("write.parquet.compression-codec", "zstd").create()
        head = self._table().current_snapshot()
        assert head
        self._first = head.snapshot_id
        self.bytes = int(head.summary["total-files-size"]) if head.summary else 0

    def again(self) -> None:
        """Back to the small files."""
        with self._table().manage_snapshots() as manage:
            manage.rollback_to_snapshot(self._first)

    def files(self) -> int:
        """How many data files it has now."""
        return sum(1 for _ in self._table().scan().plan_files())

    def drop(self) -> None:
        """Removes it with its files."""
        self._connections.catalog.purge_table(self.name.identifier)

    def _table(self) -> IcebergTable:
        return TableHandle(self._connections.catalog, self.name).load()


class Bench:
    """The parts that all figures share.

    Args:
        settings: Of the stack.
        size: How much is measured.
    """

    def __init__(self, settings: Settings, size: Size) -> None:
        self._connections, self._size = Clients(settings), size
        self._meter = Meter()

    def compaction(self) -> list[Line]:
        """Frazil's compaction against the plain procedure."""
        console.print(f"compaction: writing {self._size.files} small files, twice")
        with self._small_files() as ours, self._small_files() as plain:
            runs = [self._pair(ours, plain, turn) for turn in range(1 + self._size.repeats)][1:]
            frazil, bare = medians([r[0] for r in runs]), medians([r[1] for r in runs])
            size = ours.bytes
        ratio = frazil.cpu / bare.cpu
        return [
            *_speed("frazil", frazil, size),
            *_speed("rewrite_data_files", bare, size),
            Line("CPU, frazil to plain", ratio, "", f"<= {CPU_TARGET:g}", ratio <= CPU_TARGET),
        ]

    def landing(self) -> list[Line]:
        """A landing alone, and one beside compactions of another table."""
        console.print(f"landing: producing {self._size.records:,} trades")
        topic = f"bench_{uuid.uuid4().hex[:8]}"
        records = self._size.records
        with topic_of(self._connections, topic, Trades(), records, spread), self._small_files() as other:
            turns = range(1 + self._size.repeats)
            runs = [(self._land(topic, f"a{t}"), self._land_beside(topic, f"b{t}", other)) for t in turns][1:]
        alone, beside = (median(r[i] for r in runs) for i in (0, 1))
        loss = 1 - alone / beside
        return [
            Line("landing alone", records / alone, "records/s"),
            Line("landing beside a compaction", records / beside, "records/s"),
            Line("what it loses", loss, "", f"<= {LOSS_TARGET:g}", loss <= LOSS_TARGET),
        ]

    @contextmanager
    def _small_files(self) -> Iterator[SmallFiles]:
        made = SmallFiles(self._connections, self._size)
        try:
            yield made
        finally:
            made.drop()

    def _pair(self, ours: SmallFiles, plain: SmallFiles, turn: int) -> tuple[Cost, Cost]:
        costs = {}
        kinds = [(ours, self._frazil), (plain, self._plain)]
        for table, work in kinds if turn % 2 else reversed(kinds):  # neither is always the second
            table.again()
            costs[table.name] = self._meter.cost(partial(work, table))
            cost = costs[table.name]
            line = f"{cost.cpu:.2f} CPU s, {cost.seconds:.2f} s, {table.files()} files"
            console.print(f"  {work.__name__.lstrip('_')} {turn}: {line}")
        return costs[ours.name], costs[plain.name]

    def _frazil(self, table: SmallFiles) -> None:
        compact(table.spec, self._connections, time.time())

    def _plain(self, table: SmallFiles) -> None:
        call = f"CALL frazil.system.rewrite_data_files(table => '{table.name}')"
        self._connections.background_spark.sql(call).collect()

    def _land(self, topic: str, suffix: str) -> float:
        spec = TableSpec(topic=topic, namespace=NAMESPACE, table=f"{topic}_{suffix}", metadata="full")
        seconds = land(spec, self._connections).seconds
        self._connections.catalog.purge_table(things(spec, self._connections.settings).table.identifier)
        console.print(f"  landing {suffix}: {seconds:.2f} s")
        return seconds

    def _land_beside(self, topic: str, suffix: str, other: SmallFiles) -> float:
        begun, over = threading.Event(), threading.Event()

        def keep_compacting() -> None:
            while not over.is_set():
                other.again()
                begun.set()
                self._frazil(other)

        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(keep_compacting)
            begun.wait()
            try:
                return self._land(topic, suffix)
            finally:
                over.set()
                running.result()


def _speed(who: str, cost: Cost, size: int) -> list[Line]:
    return [
        Line(f"{who}, speed", size / 1e6 / cost.seconds, "MB/s"),
        Line(f"{who}, CPU", cost.cpu / (size / 1e9), "s/GB"),
    ]


def main() -> int:
    """Measures everything; 0 where all targets are met."""
    set_on_retry_hooks([])  # by default each retry is a line on stdout
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of it, once")
    parser.add_argument("--only", choices=["compaction", "landing"], help="one half")
    options = parser.parse_args()
    bench = Bench(Settings.load(), QUICK if options.quick else WHOLE)
    halves = {"compaction": bench.compaction, "landing": bench.landing}
    lines = [line for name, half in halves.items() if options.only in (None, name) for line in half()]
    show(lines)
    return 0 if options.quick or all(line.met for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
