"""`make bench`, its third part: what a derivation of 1 % new rows costs, beside making all of it anew.

A table of trades in order of time, and two made of it: `rows` flags each trade, `totals` sums them up by
minute, user, side and symbol. In turns 1 % of new trades is appended and derived, and then all is derived
anew. Prints a table on stderr and one line of JSON on stdout; exits with 1 where a target is missed, but
not with --quick.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from figures import Line, console, show
from meter import Cost, Meter, medians
from stamina.instrumentation import set_on_retry_hooks

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.derive.derive import DeriveReport, derive
from frazil.settings.profile import Settings
from frazil.spec.derived import DerivedKind, DerivedSpec
from frazil.spec.names import TableName
from frazil.tables.spark.session import spark_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NAMESPACE = "bench"
TARGET = 20

FLAGS = """
SELECT *, CASE WHEN quantity > 4000 THEN 'LARGE_TRADE' WHEN price > 900 THEN 'UNUSUAL_PRICE'
               ELSE 'NORMAL' END AS anomaly_flag
FROM {trades}
"""
TOTALS = """
SELECT date_trunc('minute', at) AS minute, userid, side, symbol,
       count(*) AS trades, sum(quantity) AS quantity, sum(quantity * price) AS total_price
FROM {trades} GROUP BY ALL
"""
QUERIES: dict[DerivedKind, str] = {"rows": FLAGS, "totals": TOTALS}


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured.

    Args:
        rows: Of the table.
        files: That hold them.
        repeats: Turns that count, after one that does not.
    """

    rows: int
    files: int
    repeats: int


WHOLE = Size(rows=10_000_000, files=100, repeats=3)
QUICK = Size(rows=1_000_000, files=50, repeats=1)


class Trades:
    """A table of trades that grows by 1 % of its first size."""

    def __init__(self, connections: Connections, size: Size) -> None:
        self.name = TableName(NAMESPACE, f"trades_{uuid.uuid4().hex[:8]}")
        self._spark, self._catalog, self._next = connections.spark, connections.catalog, size.rows
        self._more = size.rows // 100
        self._catalog.create_namespace_if_not_exists(NAMESPACE)
        self._rows(0, size.rows, size.files).writeTo(spark_name(self.name)).using("iceberg").create()

    def grow(self) -> None:
        """Appends new trades, in one file."""
        self._rows(self._next, self._next + self._more, 1).writeTo(spark_name(self.name)).append()
        self._next += self._more

    def drop(self) -> None:
        """Removes it with its files."""
        self._catalog.purge_table(self.name.identifier)

    def _rows(self, first: int, end: int, files: int) -> DataFrame:
        return self._spark.range(first, end, 1, files).selectExpr(
            "id",
            "timestamp_millis(1763740800000 + id) AS at",
            "element_at(array('BUY', 'SELL'), int(rand(1) * 2) + 1) AS side",
            "concat('Z', int(rand(2) * 7)) AS symbol",
            "concat('User_', int(rand(3) * 9) + 1) AS userid",
            "int(rand(4) * 4999) + 1 AS quantity",
            "int(rand(5) * 995) + 5 AS price",
        )


@dataclass(frozen=True, slots=True)
class Run:
    """One derivation."""

    report: DeriveReport
    cost: Cost

    @property
    def bytes(self) -> int:
        """Of all data files that were read, the table's own among them."""
        return self.report.input_bytes + self.report.state_bytes


class Bench:
    """The parts that all figures share.

    Args:
        settings: Of the stack.
        size: How much is measured.
        folder: For queries.
    """

    def __init__(self, settings: Settings, size: Size, folder: Path) -> None:
        self._connections, self._size, self._folder = Clients(settings), size, folder
        self._meter = Meter()

    def figures(self, kind: DerivedKind) -> list[Line]:
        """What is new against all of it."""
        console.print(f"{kind}: writing {self._size.rows:,} trades")
        with self._trades() as trades, self._table(kind, trades) as spec:
            derive(spec, self._connections)
            turns = [self._turn(spec, trades, n) for n in range(1 + self._size.repeats)][1:]
        return _lines(kind, [new for new, _ in turns], [anew for _, anew in turns])

    def _turn(self, spec: DerivedSpec, trades: Trades, turn: int) -> tuple[Run, Run]:
        trades.grow()
        new, anew = self._run(spec, rebuild=False), self._run(spec, rebuild=True)
        for name, run in (("what is new", new), ("all anew", anew)):
            line = f"{run.bytes:,} bytes, {run.cost.cpu:.2f} CPU s, {run.cost.seconds:.2f} s"
            console.print(f"  {spec.kind} {turn}, {name}: {line}")
        return new, anew

    def _run(self, spec: DerivedSpec, *, rebuild: bool) -> Run:
        reports: list[DeriveReport] = []
        work = partial(derive, spec, self._connections, rebuild=rebuild)
        cost = self._meter.cost(lambda: reports.append(work()))
        return Run(reports[0], cost)

    @contextmanager
    def _trades(self) -> Iterator[Trades]:
        made = Trades(self._connections, self._size)
        try:
            yield made
        finally:
            made.drop()

    @contextmanager
    def _table(self, kind: DerivedKind, trades: Trades) -> Iterator[DerivedSpec]:
        file = self._folder / f"{kind}.sql"
        file.write_text(QUERIES[kind].format(trades=trades.name))
        spec = DerivedSpec(table=f"{trades.name.table}_{kind}", namespace=NAMESPACE, kind=kind, sql=file)
        try:
            yield spec
        finally:
            self._connections.catalog.purge_table((NAMESPACE, spec.table))


def _lines(kind: str, new: Sequence[Run], anew: Sequence[Run]) -> list[Line]:
    fresh, whole = median(r.bytes for r in new), median(r.bytes for r in anew)
    quick, slow = medians([r.cost for r in new]), medians([r.cost for r in anew])
    return [
        Line(f"{kind}, bytes of 1 % new rows", fresh / 1e6, "MB"),
        Line(f"{kind}, bytes of all", whole / 1e6, "MB"),
        Line(f"{kind}, bytes, all to new", whole / fresh, "", f">= {TARGET}", whole / fresh >= TARGET),
        Line(f"{kind}, seconds of 1 % new rows", quick.seconds, "s"),
        Line(f"{kind}, time, all to new", slow.seconds / quick.seconds, ""),
        Line(f"{kind}, CPU, all to new", slow.cpu / quick.cpu, ""),
    ]


def main() -> int:
    """Measures everything; 0 where all targets are met."""
    set_on_retry_hooks([])  # by default each retry is a line on stdout
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of it, once")
    parser.add_argument("--only", choices=sorted(QUERIES), help="one kind")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Settings.load(), QUICK if options.quick else WHOLE, Path(folder))
        kinds = [kind for kind in QUERIES if options.only in (None, kind)]
        lines = [line for kind in kinds for line in bench.figures(kind)]
    show(lines)
    return 0 if options.quick or all(line.met for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
