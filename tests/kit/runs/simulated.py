"""Landings and compactions played second by second and file by file: the oracle of replays.

What a compaction takes is asked of the planner that compactions ask, which tests/unit/upkeep judges.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from frazil.tables.metadata.files import LiveFile
from frazil.upkeep.compaction.bins import Bin, Left, waiting
from frazil.upkeep.compaction.plan import Copies, plan_bins
from frazil.upkeep.planning.partition import Rates, Rules
from frazil.upkeep.planning.replay import Arrival

Pattern = Callable[[Random], list[Arrival]]


def simulated(arrivals: Sequence[Arrival], every: int, rules: Rules, rates: Rates) -> dict[str, float]:
    """Second by second, of a table with one partition."""
    return simulated_by_partition({"": arrivals}, every, rules, rates)


@dataclass
class _Table:
    """Its files, each with its partition, and when compactions ran and were looked for."""

    rules: Rules
    rates: Rates
    files: list[LiveFile] = field(default_factory=list)
    rewritings: list[tuple[int, int]] = field(default_factory=list)
    compacted_at: float = -math.inf
    looked_at: float = -math.inf
    waited: int = 0
    size_then: int = 0
    seen: int = 0
    compactions: set[int] = field(default_factory=set)
    commits: int = 0
    put: int = 0
    gathered: int = 0
    written: int = 0

    def land(self, waiting: Mapping[str, int]) -> None:
        """One commit with the files of what waits for each partition."""
        self.commits, self.put = self.commits + 1, self.put + 3  # a manifest, a list of them, metadata
        for name, count in waiting.items():
            size = int(self.rates.file_bytes + count * self.rates.record_bytes)
            self._add(name, count, max(1, math.ceil(size / self.rules.rule.target)))

    def compact(self, second: int) -> tuple[int, int]:
        """How many bytes a compaction writes again, and of how many files."""
        rules, size = self.rules, _bytes(self.files)
        many = self._manifests > rules.manifests
        enough = self.waited + max(0, size - self.size_then) >= rules.small_bytes
        is_time = second - max(self.compacted_at, self.looked_at) >= rules.compact_after
        if len(self.files) <= 1 or not (enough or is_time or many):
            return 0, 0
        copies = sum(n for at, n in self.rewritings if second - at < rules.kept_for)
        plan = plan_bins(self.files, 0, rules.rule, Copies(copies, frozenset(self.compactions)))
        bins = [(name, each) for name, of in plan.bins.items() for each in of]
        left = Left(self.seen, frozenset(self.compactions))
        self.waited = sum(waiting(each, rules.rule, left) for _, each in bins)
        self.size_then = size
        ready = self.waited >= rules.small_bytes or second - self.compacted_at >= rules.compact_after
        if not (many or (bins and ready)):
            self.looked_at = second
            return 0, 0
        return self._rewrite(bins, second)

    def _rewrite(self, bins: Sequence[tuple[Any, Bin]], second: int) -> tuple[int, int]:
        taken = [file for _, each in bins for file in each.files]
        self.compacted_at, self.looked_at = second, -math.inf
        if bins:
            self.commits, self.put = self.commits + 1, self.put + 4  # and a manifest of what is gone
            self.compactions.add(self.commits)
            self.seen = self.commits
            self.rewritings.append((second, _bytes(taken)))
        for file in taken:
            self.files.remove(file)
        for (name,), each in bins:
            self._add(name, sum(file.records for file in each.files), each.into)
        self.size_then = _bytes(self.files)
        if self._manifests > self.rules.manifests:
            self.commits, self.put = self.commits + 1, self.put + 3
            self.gathered = self.commits
        return _bytes(taken), len(taken)

    @property
    def _manifests(self) -> int:
        """One of each commit whose files are still there, and one of those that were put together."""
        return len({max(file.sequence, self.gathered) for file in self.files})

    def _add(self, name: str, records: float, parts: int) -> None:
        each, number = records / parts, self.commits
        size = int(self.rates.file_bytes + each * self.rates.record_bytes)
        for _ in range(parts):
            self.written += 1
            path = f"{self.written:09}"
            file = LiveFile(path, size, round(each), (name,), sequence=number, snapshot_id=number)
            self.files.append(file)


def _bytes(files: Sequence[LiveFile]) -> int:
    return sum(file.bytes for file in files)


def simulated_by_partition(
    arrivals: Mapping[str, Sequence[Arrival]], every: int, rules: Rules, rates: Rates
) -> dict[str, float]:
    """Second by second and file by file; a landing, and a compaction, of all partitions is one commit."""
    begin = int(min(of[0].at for of in arrivals.values()))
    end = int(max(of[-1].at for of in arrivals.values())) + every
    table, waiting_for = _Table(rules, rates), dict.fromkeys(arrivals, 0)
    came: dict[int, dict[str, int]] = {}
    for name, own in arrivals.items():
        for arrival in own:
            here = came.setdefault(int(arrival.at), {})
            here[name] = here.get(name, 0) + arrival.records
    landings = records = opened = again = reopened = 0
    waits: list[int] = []
    since: list[int] = []
    for second in sorted({*came, *range(begin + every, end + 1, every)}):
        for name, count in came.get(second, {}).items():
            waiting_for[name] += count
            since += [second] * count
        if (second - begin) % every or second == begin or not since:
            continue
        waits += [second - at + 1 for at in since]
        records, since, landings = records + len(since), [], landings + 1
        table.land({name: count for name, count in waiting_for.items() if count})
        waiting_for = dict.fromkeys(arrivals, 0)
        size, taken = table.compact(second)
        again, reopened, opened = again + size, reopened + taken, opened + len(table.files)
    seconds = landings * rates.landing_seconds + records * rates.record_seconds + again * rates.byte_seconds
    return {
        "commits": table.commits, "files": table.written, "rewritten": again, "task_seconds": seconds,
        "writes": table.written + table.put,
        "reads": landings * rates.landing_reads + reopened * rates.file_reads,
        "opened": opened / landings, "waited": sorted(waits)[math.ceil(0.95 * len(waits)) - 1],
    }  # fmt: skip


def steady(_: Random) -> list[Arrival]:
    return [Arrival(second, 3) for second in range(600)]


def bursts(chance: Random) -> list[Arrival]:
    return [Arrival(at + s, chance.randint(1, 60)) for at in range(0, 600, 97) for s in range(5)]


def nights(chance: Random) -> list[Arrival]:
    return [Arrival(s, chance.randint(1, 9)) for s in range(900) if s % 300 < 180]


def one_huge_partition(_: Random) -> list[Arrival]:
    return [Arrival(second, 400) for second in range(300)]
