"""`make bench`, its fourth part: what upserts cost, beside Spark's `MERGE INTO` of the same changes.

Two tables with the same rows and the same layout. Frazil lands changes in one; in the other a plain job does
what most teams write: Kafka source, from_avro, the last change of each key, MERGE INTO. Both take turns, and
each turn has new tables. Then ten landings in a row, and what reading costs before a compaction and after it.
Prints a table on stderr and one line of JSON on stdout; exits with 1 where a target is missed, but not with
--quick. `--kinds` compares copy-on-write with what `MERGE INTO` writes otherwise (`kinds.py`).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from statistics import median

import bare
import duckdb
from accounts import BASE, CASES, SCHEMA, Case, Changes
from figures import Line, console, show
from meter import Cost, Meter, medians
from pyiceberg.exceptions import NoSuchTableError
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro
from stamina.instrumentation import set_on_retry_hooks
from topics import add, spread, topic_of

from frazil.clients import Clients
from frazil.formats.columns.columns import metadata_columns
from frazil.formats.types import from_iceberg, spark_type
from frazil.landing.land import land
from frazil.settings.profile import Settings
from frazil.spec.names import TableName, things
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.metadata.snapshots import number, summary_of
from frazil.tables.spark.session import spark_name
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.kind import Order
from frazil_local.servers.stand_ins import BUCKET
from kit.readers.duck import duckdb_on

NAMESPACE = "bench"
CPU_TARGET, READ_TARGET, LOCAL_TARGET, WRITTEN_TARGET = 0.5, 1.3, 10, 2
ROUNDS, READS = 10, 5


@dataclass(frozen=True, slots=True)
class Run:
    """One way of bringing the changes in."""

    cost: Cost
    written: int  # bytes of new data files
    replaced: int  # bytes of those in whose place they are


class Bench:
    """The parts that all figures share.

    Args:
        settings: Of the stack.
        scale: The sizes of all cases are divided by it.
        repeats: Turns that count, after one of a tenth of the size that does not.
    """

    def __init__(self, settings: Settings, scale: int, repeats: int) -> None:
        self._connections, self._scale, self._repeats = Clients(settings), scale, repeats
        self._plain = bare.plain(settings)
        self._meter = Meter()

    def prune(self, prunes: bool) -> None:
        """Whether `MERGE INTO` first looks, by its keys, which files it needs: Spark does by default."""
        conf = self._plain.spark.conf
        conf.set("spark.sql.optimizer.runtime.rowLevelOperationGroupFilter.enabled", str(prunes).lower())

    def against_merge(self, case: Case) -> list[Line]:
        """Frazil and `MERGE INTO` in turn."""
        case = self._scaled(case)
        console.print(f"{case.name}: producing {case.changes:,} changes of {case.rows:,} rows")
        tenth = self._divided(case, 10)
        with self._topic(tenth) as topic:
            self._turn(tenth, topic, 0)
        with self._topic(case) as topic:
            turns = [self._turn(case, topic, n) for n in range(1, 1 + self._repeats)]
        ours, merge = ([turn[i] for turn in turns] for i in (0, 1))
        each = [medians([run.cost for run in runs]) for runs in (ours, merge)]
        written = [median(run.written for run in runs) for runs in (ours, merge)]
        cpu, grown = each[0].cpu / each[1].cpu, median(run.written / run.replaced for run in ours)
        more = each[1].read / each[0].read
        aim = (f">= {LOCAL_TARGET}", more >= LOCAL_TARGET) if case.local else ("", True)
        return [
            Line(f"{case.name}: CPU, frazil", each[0].cpu / case.changes * 1e6, "s/M changes"),
            Line(f"{case.name}: CPU, MERGE", each[1].cpu / case.changes * 1e6, "s/M changes"),
            Line(f"{case.name}: CPU, frazil to MERGE", cpu, "", f"<= {CPU_TARGET}", cpu <= CPU_TARGET),
            Line(f"{case.name}: read, frazil", each[0].read / 1e6, "MB"),
            Line(f"{case.name}: read, MERGE to frazil", more, "", *aim),
            Line(f"{case.name}: written, to the files replaced", grown, "", f"<= {WRITTEN_TARGET}",
                 grown <= WRITTEN_TARGET),
            Line(f"{case.name}: written, frazil to MERGE", written[0] / written[1], ""),
        ]  # fmt: skip

    def reading(self, case: Case) -> list[Line]:
        """What reading all rows costs after ten landings, beside a table just compacted.

        Without any compaction in between, and then with upkeep's where it is due.
        """
        case = self._scaled(case)
        console.print(f"reading after {ROUNDS} landings of {case.changes // ROUNDS:,} changes")
        with self._topic(case) as topic, self._table(case, topic, "read") as (spec, name):
            for seed in range(ROUNDS):
                land(spec, self._connections)
                more = Changes(case, seed + 2)
                add(self._connections, topic, more, case.changes // ROUNDS, spread)
            readings = {"": self._reading(name)}
            due = compact(spec, self._connections, time.time())
            if due.done:
                readings[", and upkeep"] = self._reading(name)
            compact(spec, self._connections, time.time(), Order(everything=True))
            best = self._reading(name)
        ratios = {when: cost.cpu / best.cpu for when, cost in readings.items()}
        target = f"<= {READ_TARGET}"
        return [
            Line(
                f"reading after {ROUNDS} landings{when}, to compacted",
                ratio,
                "",
                target,
                ratio <= READ_TARGET,
            )
            for when, ratio in ratios.items()
        ]

    def _scaled(self, case: Case) -> Case:
        return self._divided(case, self._scale)

    def _divided(self, case: Case, by: int) -> Case:
        return replace(case, rows=case.rows // by, changes=case.changes // by)

    @contextmanager
    def _topic(self, case: Case) -> Iterator[str]:
        """The changes, after one record that makes the table."""
        name = f"bench_{uuid.uuid4().hex[:8]}"
        with topic_of(self._connections, name, Changes(case), case.changes, spread):
            yield name

    def _turn(self, case: Case, topic: str, turn: int) -> tuple[Run, Run]:
        runs = {}
        ways = [("ours", self._ours), ("merge", self._merge)]
        for way, work in ways if turn % 2 else reversed(ways):  # neither is always the second
            with self._table(case, topic, f"{way}_{turn}") as (spec, name):
                cost = self._meter.cost(partial(work, spec, name))
                runs[way] = Run(cost, *self._exchanged(name))
                self._compare(name, case.rows)
            console.print(
                f"  {way} {turn}: {cost.cpu:.2f} CPU s, {cost.seconds:.2f} s, "
                f"{cost.read:,.0f} bytes read, {runs[way].written:,} written, {runs[way].replaced:,} replaced"
            )
        return runs["ours"], runs["merge"]

    @contextmanager
    def _table(self, case: Case, topic: str, suffix: str) -> Iterator[tuple[TableSpec, TableName]]:
        """A table with the rows of before, after a landing of one record, which gives it a position."""
        spec = TableSpec.model_validate(
            {"topic": topic, "namespace": NAMESPACE, "table": f"{topic}_{suffix}", "mode": "upsert",
             "key_fields": ["id"], **case.layout}
        )  # fmt: skip
        name = things(spec, self._connections.settings).table
        land(spec, self._connections, max_records=1)
        rows = self._columns(self._connections.spark.range(1, case.rows, 1, case.files), BASE, name)
        try:
            rows.writeTo(spark_name(name)).option("fanout-enabled", "true").append()
            yield spec, name
        finally:
            with suppress(NoSuchTableError):
                self._connections.catalog.purge_table(name.identifier)

    def _ours(self, spec: TableSpec, _: TableName) -> None:
        land(spec, self._connections)

    def _merge(self, spec: TableSpec, name: TableName, since: str = "earliest") -> None:
        spark = self._plain.spark
        value = from_avro(F.expr("substring(raw_value, 6)"), json.dumps(SCHEMA))
        read = bare.read(self._plain, spec.topic, since).withColumn("value_", value)
        known = {f["name"]: f"value_.{f['name']}" for f in SCHEMA["fields"]}
        known |= {c.name(spec.metadata_names): c.expression for c in metadata_columns(spec)}
        rows = self._columns(read, known, name)
        order = F.struct("$$timestamp", "$$partition", "$$offset")
        last = rows.groupBy("id").agg(F.max_by(F.struct("*"), order).alias("r")).selectExpr("r.*")
        last.createOrReplaceTempView("changes")
        spark.sql(
            f"MERGE INTO {spark_name(name)} t USING changes c ON t.id = c.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        ).collect()

    def _columns(self, rows: DataFrame, known: Mapping[str, str], name: TableName) -> DataFrame:
        """All columns of the table, in its types; empty where nothing is known of one."""
        fields = from_iceberg(TableHandle(self._connections.catalog, name).load().schema())
        sources = ((f, known.get(f.name, "NULL")) for f in fields)
        return rows.selectExpr(*(f"CAST({sql} AS {spark_type(f.type)}) AS `{f.name}`" for f, sql in sources))

    def _exchanged(self, name: TableName) -> tuple[int, int]:
        """Bytes of the data files that the last snapshot added, and of those that it removed."""
        summary = summary_of(TableHandle(self._connections.catalog, name).load().current_snapshot())
        return number(summary, "added-files-size"), number(summary, "removed-files-size")

    def _compare(self, name: TableName, rows: int) -> None:
        """Both ways must leave the same table."""
        totals = self._connections.spark.table(spark_name(name)).selectExpr(
            "count(1) n", "count(DISTINCT id) k"
        )
        row = totals.collect()[0]
        assert row["n"] == row["k"] == rows, f"{name}: {row['n']} rows of {row['k']} keys, not {rows}"

    def _alter(self, name: TableName, properties: Mapping[str, str]) -> None:
        """Gives a table properties; SeaweedFS takes no Puffin file where its own catalog puts tables."""
        elsewhere = {"write.data.path": f"s3://{BUCKET}/{name}"}
        sql = ", ".join(f"'{key}' = '{value}'" for key, value in {**elsewhere, **properties}.items())
        self._connections.spark.sql(f"ALTER TABLE {spark_name(name)} SET TBLPROPERTIES ({sql})").collect()

    def _readers(self, name: TableName, rows: int) -> Iterator[tuple[str, float]]:
        """CPU seconds of reading all rows, by each that finds them all."""
        yield "Spark", self._reading(name).cpu
        table = TableHandle(self._connections.catalog, name).load()
        with duckdb_on(self._connections.settings) as duck:
            query = f"SELECT count(*), bit_xor(hash(t)) FROM iceberg_scan('{table.metadata_location}') t"
            ways: Mapping[str, Callable[[], int]] = {
                "PyIceberg": lambda: table.scan().to_arrow().num_rows,
                "DuckDB": lambda: duck.sql(query).fetchall()[0][0],
            }
            for reader, read in ways.items():
                try:
                    seen = read()
                except (duckdb.Error, NotImplementedError, ValueError) as e:
                    console.print(f"  {reader} can't read it: {e}"[:200])
                    continue
                if seen != rows:
                    console.print(f"  {reader} reads it wrongly: {seen} rows of {rows}")
                    continue
                yield reader, medians([self._meter.cost(read) for _ in range(READS)]).cpu

    def _reading(self, name: TableName) -> Cost:
        rows = self._connections.spark.table(spark_name(name))
        read = rows.write.format("noop").mode("overwrite").save  # a map has no hash
        return medians([self._meter.cost(read) for _ in range(4)][1:])


def main() -> int:
    """Measures everything; 0 where all targets are met."""
    set_on_retry_hooks([])  # by default each retry is a line on stdout
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of it, once")
    parser.add_argument("--only", default="", help="cases whose name has this in it, `vectors`, or `reading`")
    parser.add_argument("--share", type=int, default=0, help="of the rows and changes: one in so many")
    parser.add_argument("--turns", type=int, default=0, help="turns that count")
    parser.add_argument(
        "--kinds", action="store_true", help="write kinds beside each other, and nothing else"
    )
    parser.add_argument(
        "--readers", action="store_true", help="each reader after changes by vectors, and nothing else"
    )
    parser.add_argument("--unpruned", action="store_true", help="MERGE reads and writes all files anew")
    options = parser.parse_args()
    scale, repeats = (10, 1) if options.quick else (1, 3)
    scale = options.share or scale
    if options.kinds:
        from kinds import Kinds

        show(Kinds(Settings.load(), scale, repeats).lines())
        return 0
    if options.readers:
        from vectors import Vectors

        show(Vectors(Settings.load(), scale, repeats).reading_vectors(CASES[1]))
        return 0
    bench = Bench(Settings.load(), scale, options.turns or repeats)
    bench.prune(not options.unpruned)
    lines = [line for case in CASES if options.only in case.name for line in bench.against_merge(case)]
    if options.only in "vectors":
        from vectors import Vectors

        lines += Vectors(Settings.load(), scale, options.turns or repeats).by_vectors(CASES[1])
    if options.only in "reading":
        lines += bench.reading(CASES[0])
    show(lines)
    return 0 if options.quick or all(line.met for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
