"""`upserts.py --kinds`: what changes cost to write and to read, by each way of writing them.

Frazil lands changes of a hundredth of a table, time and again. In tables of the same rows and layout Spark
merges: as copy-on-write, and on read with format 2 and 3. Then each reader reads all, and once more when the
table was compacted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from accounts import BY_KEY, Case, Changes, anywhere, newest
from figures import Line, console
from topics import PARTITIONS, add, spread
from upserts import Bench

from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.metadata.snapshots import ancestors, number, summary_of

__all__ = ["Kinds"]

OURS = "frazil, copy-on-write"
KINDS: Mapping[str, Mapping[str, str]] = {
    OURS: {},
    "MERGE, copy-on-write": {"write.merge.mode": "copy-on-write"},
    "MERGE, positional deletes": {"write.merge.mode": "merge-on-read"},
    "MERGE, deletion vectors": {"write.merge.mode": "merge-on-read", "format-version": "3"},
}
"""Properties of the tables that other engines write."""

CASES = (
    Case("random keys", 500_000, 5_000, anywhere),
    Case("the newest keys", 500_000, 5_000, newest, BY_KEY),
)
"""Changes of one round: as many as a hundredth of the rows."""

ROUNDS = 5


@dataclass
class Found:
    """What one kind came to, in all rounds."""

    cpu: float = 0.0
    written: int = 0
    deletes: int = 0
    reading: dict[str, float] = field(default_factory=dict)  # CPU seconds by reader, as far as it can
    compacted: dict[str, float] = field(default_factory=dict)


class Kinds(Bench):
    """All kinds, in all cases."""

    def lines(self) -> list[Line]:
        """Ratios only: of writing to Frazil's, of reading to the same table compacted."""
        return [line for case in CASES for line in self._case(self._scaled(case))]

    def _case(self, case: Case) -> Iterator[Line]:
        for properties in KINDS.values():
            self._kind(self._divided(case, 10), properties)
        by_kind = {kind: self._kind(case, properties) for kind, properties in KINDS.items()}
        ours = by_kind[OURS]
        for kind, one in by_kind.items():
            console.print(f"  {case.name}, {kind}: {one}")
            yield Line(f"{case.name}: {kind}: CPU to write, to frazil's", one.cpu / ours.cpu, "")
            yield Line(f"{case.name}: {kind}: bytes written, to frazil's", one.written / ours.written, "")
            yield Line(f"{case.name}: {kind}: delete files after {ROUNDS} rounds", one.deletes, "")
            for reader, cpu in one.reading.items():
                ratio = cpu / one.compacted[reader]
                yield Line(f"{case.name}: {kind}: reading by {reader}, to compacted", ratio, "")

    def _kind(self, case: Case, properties: Mapping[str, str]) -> Found:
        with self._topic(case) as topic, self._table(case, topic, "kind") as (spec, name):
            result = self._rounds(case, spec, name, properties)
            self._compare(name, case.rows)
            result.reading = dict(self._readers(name, case.rows))
            self._compact(name)
            result.compacted = dict(self._readers(name, case.rows))
        return result

    def _rounds(self, case: Case, spec: TableSpec, name: TableName, properties: Mapping[str, str]) -> Found:
        """Brings as many changes in as the case has, round by round."""
        measured, done = Found(), dict.fromkeys(map(str, range(PARTITIONS)), 0)
        if not case.layout:  # eight tasks wrote into every bucket, and only copy-on-write would mend that
            self._compact(name)
        self._alter(name, properties)
        for seed in range(ROUNDS):
            if seed:
                add(self._connections, spec.topic, Changes(case, seed + 1), case.changes, spread)
            work = partial(self._merge, spec, name, json.dumps({spec.topic: done}))
            measured.cpu += self._meter.cost(work if properties else partial(self._ours, spec, name)).cpu
            done = {p: at + len(range(int(p), case.changes, PARTITIONS)) for p, at in done.items()}
        table = TableHandle(self._connections.catalog, name).load()
        line = list(ancestors(table.metadata))[:ROUNDS]
        measured.written = sum(number(summary_of(s), "added-files-size") for s in line)
        measured.deletes = number(summary_of(line[0]), "total-delete-files")
        return measured

    def _compact(self, name: TableName) -> None:
        self._connections.spark.sql(
            f"CALL frazil.system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))"
        ).collect()
