"""`make bench`: what a landing costs, against a bare Spark job on the same records.

In one run, on one machine, on a warm session: the bare job and Frazil take turns, and the medians count. CPU
seconds per million records are what survives other work on the machine. Prints a table on stderr and one line
of JSON on stdout; exits with 1 where a target is missed, but not with --quick or --share, whose fixed costs
hide what targets are about.
"""

from __future__ import annotations

import argparse
import json
import sys
import uuid
from contextlib import ExitStack, suppress
from dataclasses import dataclass

import bare
from meter import Cost, Meter, medians
from pyiceberg.exceptions import NoSuchTableError
from rich.console import Console
from rich.table import Table
from samples import NARROW, WIDE, Kind, Sample, Trades, sample
from topics import PARTITIONS, Place, add, one_place, spread, topic_of

from frazil.clients import Clients
from frazil.landing.land import land
from frazil.settings.profile import Settings
from frazil.spec.names import things
from frazil.spec.topic import TableSpec

NAMESPACE = "bench"
WARM_UPS = 2
"""Runs that do not count: the JVM still compiles what it sees for the first times."""
console = Console(stderr=True, width=None if sys.stderr.isatty() else 130)


@dataclass(frozen=True, slots=True)
class Case:
    """One comparison.

    Args:
        sample: What is landed.
        count: How many; a tenth of it with --quick.
        figure: What is compared.
        target: The bound of the figure, and whether it is the most or the least.
        place: Which partition each record goes to.
        metadata: Which metadata columns the tables have.
        rival: Landed by Frazil to compare with; by default the same sample by the bare job.
        checks: What Frazil's table asks of the rows, and the rival's does not.
    """

    sample: Sample | Trades
    count: int
    figure: str
    target: tuple[str, float]
    place: Place = spread
    metadata: str = "standard"
    rival: Sample | None = None
    checks: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """For the table."""
        place = "1 partition" if self.place is one_place else f"{PARTITIONS} partitions"
        return f"{self.sample.name}, {place}"


RATIO = "CPU ratio"
KINDS: tuple[Kind, ...] = ("avro", "json", "protobuf")
NARROW_AIM = {"avro": 0.75, "json": 0.75, "protobuf": 0.75}
WIDE_AIM = {"avro": 0.55, "json": 0.55, "protobuf": 0.7}
CLEAN = sample("avro", NARROW, "avro, clean")
CHECKED = sample("avro", NARROW, "avro, 3 checks")
CHECKS = ("quantity >= 0", "symbol <> '' and price < 1000000000", "count(distinct symbol) <= count(*)")
CASES = (
    Case(Trades(), 3_000_000, RATIO, ("<=", 0.75), metadata="full"),
    Case(Trades(), 3_000_000, "speed-up", (">=", 1.8), one_place, "full"),
    *(Case(sample(k, NARROW, f"{k}, 6 fields"), 1_000_000, RATIO, ("<=", NARROW_AIM[k])) for k in KINDS),
    Case(sample("avro", NARROW, "avro, no headers", headers=False), 1_000_000, RATIO, ("<=", 0.75)),
    *(Case(sample(k, WIDE, f"{k}, 1 KB"), 200_000, RATIO, ("<=", WIDE_AIM[k])) for k in KINDS),
    Case(sample("avro", NARROW, "avro, 8 ids", versions=8), 1_000_000, RATIO, ("<=", 1.2), rival=CLEAN),
    Case(sample("avro", NARROW, "avro, 1 % bad", damaged=100), 1_000_000, RATIO, ("<=", 1.2), rival=CLEAN),
    Case(CHECKED, 1_000_000, RATIO, ("<=", 1.1), rival=CLEAN, checks=CHECKS),
)
SMALL = 6_000
SMALL_TARGET = ("<=", 0.35)


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table."""

    case: str
    records: int
    rival: Cost | None
    frazil: Cost
    figure: str
    value: float
    target: tuple[str, float]

    @property
    def met(self) -> bool:
        """Whether the target is reached."""
        sign, bound = self.target
        return self.value <= bound if sign == "<=" else self.value >= bound

    def per_million(self, cost: Cost) -> float:
        """CPU seconds per million records."""
        return cost.cpu / self.records * 1e6


class Bench:
    """The parts that all cases share.

    Args:
        settings: Of the stack.
        repeats: Runs of each kind that count.
    """

    def __init__(self, settings: Settings, repeats: int) -> None:
        self._connections = Clients(settings)
        self._plain = bare.plain(settings)
        self._meter = Meter()
        self._repeats = repeats

    def compare(self, case: Case, count: int) -> Result:
        """Frazil and its rival in turn, after the warm-ups."""
        console.print(f"{case.name}: producing {count:,} records")
        with ExitStack() as stack:
            topic = self._topic(stack, case.sample, count, case.place)
            other = self._topic(stack, case.rival, count, case.place) if case.rival else topic
            runs = [self._turn(case, topic, other, turn) for turn in range(WARM_UPS + self._repeats)]
        medians_by_kind = {kind: medians([run[kind] for run in runs[WARM_UPS:]]) for kind in runs[0]}
        rival, own = medians_by_kind["rival"], medians_by_kind["frazil"]
        value = own.cpu / rival.cpu if case.figure == RATIO else rival.seconds / own.seconds
        return Result(case.name, count, rival, own, case.figure, value, case.target)

    def small(self) -> Result:
        """Landings of few records into a table that is there."""
        topic = f"bench_{uuid.uuid4().hex[:8]}"
        spec = self._spec(topic, "full", "small")
        costs = []
        with topic_of(self._connections, topic, Trades(), SMALL, spread):
            for _ in range(WARM_UPS + self._repeats):
                costs.append(self._meter.cost(lambda: land(spec, self._connections)))
                add(self._connections, topic, Trades(), SMALL, spread)
            self._drop(spec)
        ours = medians(costs[WARM_UPS:])
        name = f"{SMALL:,} trades, warm"
        return Result(name, SMALL, None, ours, "seconds", ours.seconds, SMALL_TARGET)

    def _topic(self, stack: ExitStack, sample: Sample | Trades, count: int, place: Place) -> str:
        name = f"bench_{uuid.uuid4().hex[:8]}"
        return stack.enter_context(topic_of(self._connections, name, sample, count, place))

    def _turn(self, case: Case, topic: str, other: str, turn: int) -> dict[str, Cost]:
        rival = self._frazil if case.rival else self._bare
        kinds = [("rival", rival, other), ("frazil", self._frazil, topic)]
        costs = {}
        for kind, measure, name in (*kinds[turn % 2 :], *kinds[: turn % 2]):  # none is always the last
            checks = case.checks if kind == "frazil" else ()
            spec = self._spec(name, case.metadata, f"{kind}_{turn}", checks)
            costs[kind] = measure(spec)
            self._drop(spec)
            console.print(f"  {kind} {turn}: {costs[kind].cpu:.2f} CPU s, {costs[kind].seconds:.2f} s")
        return costs

    def _bare(self, spec: TableSpec) -> Cost:
        name = things(spec, self._connections.settings).table
        bare.prepare(self._plain, spec, name)
        return self._meter.cost(lambda: bare.run(self._plain, spec, name))

    def _frazil(self, spec: TableSpec) -> Cost:
        return self._meter.cost(lambda: land(spec, self._connections))

    def _spec(self, topic: str, metadata: str, suffix: str, checks: tuple[str, ...] = ()) -> TableSpec:
        return TableSpec.model_validate(
            {
                "topic": topic,
                "namespace": NAMESPACE,
                "table": f"{topic}_{suffix}",
                "metadata": metadata,
                "on_bad_record": "dead_letter",
                "checks": [{"name": f"check_{n}", "expect": text} for n, text in enumerate(checks)],
            }
        )

    def _drop(self, spec: TableSpec) -> None:
        name = things(spec, self._connections.settings).table
        for table in (name, name.dead_letters):
            with suppress(NoSuchTableError):
                self._connections.catalog.purge_table(table.identifier)


def main() -> int:
    """Measures everything; 0 where all targets are met."""
    options = _options()
    bench = Bench(Settings.load(), options.repeats or (3 if options.quick else 5))
    scale = 10 if options.quick else options.share
    chosen = [case for case in CASES if options.only in case.name]
    results = [bench.compare(case, case.count // scale) for case in chosen]
    if options.only in "small":
        results.append(bench.small())
    _show(results)
    return 0 if scale > 1 or all(r.met for r in results) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the records, three repeats")
    parser.add_argument("--repeats", type=int, help="runs that count, of each kind")
    parser.add_argument("--share", type=int, default=1, help="one in so many of the records")
    parser.add_argument("--only", default="", help="cases whose name has this in it, or `small`")
    return parser.parse_args()


def _show(results: list[Result]) -> None:
    table = Table("case", "records", "CPU s/M: bare or clean", "Frazil", "s", "s", "figure", "target")
    for r in results:
        costs = (r.rival, r.frazil)
        cpu = (f"{r.per_million(c):.2f}" if c else "" for c in costs)
        seconds = (f"{c.seconds:.2f}" if c else "" for c in costs)
        figure = f"[{'green' if r.met else 'red'}]{r.figure} {r.value:.2f}"
        target = f"{r.target[0]} {r.target[1]:g}"
        table.add_row(r.case, f"{r.records:,}", *cpu, *seconds, figure, target)
    console.print(table)
    sys.stdout.write(json.dumps([_json(r) for r in results]) + "\n")


def _json(r: Result) -> dict[str, object]:
    costs = {kind: cost for kind in ("rival", "frazil") if (cost := getattr(r, kind))}
    return {
        "case": r.case,
        "records": r.records,
        **{f"{kind}_cpu_s_per_million": round(r.per_million(cost), 3) for kind, cost in costs.items()},
        **{f"{kind}_seconds": round(cost.seconds, 3) for kind, cost in costs.items()},
        r.figure.replace(" ", "_"): round(r.value, 3),
        "target": f"{r.target[0]} {r.target[1]:g}",
        "met": r.met,
    }


if __name__ == "__main__":
    sys.exit(main())
