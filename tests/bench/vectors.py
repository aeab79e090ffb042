"""What `upserts.py` measures of deletion vectors: beside files written anew, and `MERGE INTO`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from statistics import median

from accounts import Case, Changes
from figures import Line, console
from meter import Cost, medians
from topics import add, spread
from upserts import Bench, Run

from frazil.landing.land import land
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.kind import Order

__all__ = ["Vectors"]

MERGE = "MERGE"
KINDS: Mapping[str, Mapping[str, object]] = {
    "vector": {"write": {"delete": "vector"}}, "rewrite": {"write": {"delete": "rewrite"}}, MERGE: {},
}  # fmt: skip
"""What specs say of each way of writing tables of version 3."""

Way = Callable[[TableSpec, TableName], None]
"""Brings what a topic holds into a table."""


class Vectors(Bench):
    """Tables of version 3."""

    def by_vectors(self, case: Case) -> list[Line]:
        """The same changes by deletion vectors, by files written anew, and by `MERGE INTO` with vectors.

        In tables of version 3, in turn.
        """
        case = self._scaled(replace(case, layout={"partition_by": ["bucket(16, id)"]}, files=1))
        console.print(f"vectors: producing {case.changes:,} changes of {case.rows:,} rows")
        ways: Mapping[str, Way] = {"vector": self._ours, "rewrite": self._ours, MERGE: self._merge}
        runs: dict[str, list[Run]] = {way: [] for way in ways}
        reads: dict[str, list[float]] = {way: [] for way in ways}
        with self._topic(case) as topic:
            for turn in range(1 + self._repeats):
                for way in sorted(ways, reverse=bool(turn % 2)):
                    of_version_3 = replace(case, layout=case.layout | {"format_version": 3, **KINDS[way]})
                    with self._table(of_version_3, topic, f"{way}_{turn}".lower()) as (spec, name):
                        if way == MERGE:
                            self._alter(name, {"write.merge.mode": "merge-on-read"})
                        cost = self._meter.cost(partial(ways[way], spec, name))
                        self._compare(name, case.rows)
                        written, _ = self._exchanged(name)
                        console.print(f"  {way} {turn}: {cost.cpu:.2f} CPU s, {written:,} bytes written")
                        if turn:
                            runs[way].append(Run(cost, *self._exchanged(name)))
                            reads[way].append(self._reading(name).cpu)
        cpu = {way: median(run.cost.cpu for run in of) / case.changes * 1e6 for way, of in runs.items()}
        data = {way: median(run.written for run in of) for way, of in runs.items()}
        read = {way: median(of) for way, of in reads.items()}
        return [
            Line("vectors: CPU", cpu["vector"], "s/M changes"),
            Line("vectors: CPU, to files written anew", cpu["vector"] / cpu["rewrite"], ""),
            Line("vectors: CPU, to MERGE with vectors", cpu["vector"] / cpu[MERGE], ""),
            Line("vectors: written, to files written anew", data["vector"] / data["rewrite"], ""),
            Line("vectors: written, to MERGE with vectors", data["vector"] / data[MERGE], ""),
            Line("vectors: reading by Spark, to files written anew", read["vector"] / read["rewrite"], ""),
        ]

    def reading_vectors(self, case: Case) -> list[Line]:
        """What each reader's full read costs after three landings by vectors, to the same table compacted.

        With upkeep where it is due. One landing before these, of a tenth, does not count.
        """
        layout: dict[str, object] = {"partition_by": ["bucket(16, id)"], "format_version": 3}
        case = self._scaled(replace(case, layout=layout, files=1))
        tenth = replace(case, changes=case.changes // 10)
        with self._topic(tenth) as topic, self._table(case, topic, "readers") as (spec, name):
            land(spec, self._connections)
            costs = [self._landing(spec, Changes(case, seed)) for seed in (2, 3, 4)]
            for cost in costs:
                console.print(f"  {cost.cpu:.2f} CPU s, {cost.seconds:.2f} s")
            upkeep = self._meter.cost(lambda: compact(spec, self._connections, time.time()))
            after = dict(self._readers(name, case.rows))
            compact(spec, self._connections, time.time(), Order(everything=True))
            best = dict(self._readers(name, case.rows))
        return [
            Line("vectors, one landing: CPU", medians(costs).cpu / case.changes * 1e6, "s/M changes"),
            Line("vectors, upkeep after it: CPU", upkeep.cpu, "s"),
            *(
                Line(f"vectors, reading by {reader}, to compacted", cpu / best[reader], "")
                for reader, cpu in after.items()
            ),
        ]

    def _landing(self, spec: TableSpec, changes: Changes) -> Cost:
        """What one landing of changes costs, which are produced first."""
        add(self._connections, spec.topic, changes, changes.case.changes, spread)
        return self._meter.cost(lambda: land(spec, self._connections))
