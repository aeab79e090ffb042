"""Landings and compactions played second by second and file by file: the oracle of replays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from frazil.costs.planning.replay import Arrival, Rates, Rules

Pattern = Callable[[Random], list[Arrival]]


def simulated(arrivals: Sequence[Arrival], every: int, rules: Rules, rates: Rates) -> dict[str, float]:
    """Second by second, of a table with one partition."""
    return simulated_by_partition({"": arrivals}, every, rules, rates)


@dataclass
class _Partition:
    """Its files as (its size, whether a landing or a compaction made it)."""

    rules: Rules
    waiting: int = 0
    files: list[tuple[int, str]] = field(default_factory=list)
    rewritings: list[tuple[int, int]] = field(default_factory=list)

    def land(self, record_bytes: float) -> int:
        """How many files a landing of what waits makes."""
        size, self.waiting = int(self.waiting * record_bytes), 0
        parts = max(1, math.ceil(size / self.rules.target))
        self.files += [(size // parts, "landed")] * parts
        return parts

    @property
    def fresh(self) -> int:
        """Bytes that landings left in small files."""
        return _bytes([f for f in self.files if f[0] < self.rules.small and f[1] == "landed"])

    def compact(self, second: int) -> tuple[int, int, int]:
        """How many bytes a compaction writes again, of how many files, and into how many."""
        rules = self.rules
        fresh = [f for f in self.files if f[0] < rules.small and f[1] == "landed"]
        stale = [f for f in self.files if f[0] < rules.small and f[1] == "compacted"]
        copies = sum(n for at, n in self.rewritings if second - at < rules.kept_for)
        crowded = copies + _bytes(fresh) + _bytes(stale) > rules.copies
        taken = fresh if crowded and _bytes(stale) > _bytes(fresh) else fresh + stale
        total = _bytes(taken)
        into = max(1, math.ceil(total / int(1.1 * rules.target)))
        if into >= len(taken):
            return 0, 0, 0
        for gone in taken:
            self.files.remove(gone)
        self.files += [(total // into, "compacted")] * into
        self.rewritings.append((second, total))
        return total, len(taken), into


def _bytes(files: Sequence[tuple[int, str]]) -> int:
    return sum(size for size, _ in files)


def simulated_by_partition(
    arrivals: Mapping[str, Sequence[Arrival]], every: int, rules: Rules, rates: Rates
) -> dict[str, float]:
    """Second by second and file by file; a landing, and a compaction, of all partitions is one commit."""
    begin = int(min(of[0].at for of in arrivals.values()))
    end = int(max(of[-1].at for of in arrivals.values())) + every
    parts, last = {name: _Partition(rules) for name in arrivals}, begin
    came: dict[int, dict[str, int]] = {}
    for name, own in arrivals.items():
        for arrival in own:
            here = came.setdefault(int(arrival.at), {})
            here[name] = here.get(name, 0) + arrival.records
    landings = commits = written = records = opened = again = reopened = 0
    waits: list[int] = []
    since: list[int] = []
    for second in sorted({*came, *range(begin + every, end + 1, every)}):
        for name, count in came.get(second, {}).items():
            parts[name].waiting += count
            since += [second] * count
        if (second - begin) % every or second == begin or not since:
            continue
        waits += [second - at + 1 for at in since]
        records, since = records + len(since), []
        written += sum(p.land(rates.record_bytes) for p in parts.values() if p.waiting)
        is_due = sum(p.fresh for p in parts.values()) >= rules.small_bytes
        is_due = is_due or second - last >= rules.compact_after
        rewritten = [p.compact(second) for p in parts.values()] if is_due else []
        again += sum(total for total, _, _ in rewritten)
        reopened += sum(taken for _, taken, _ in rewritten)
        written += sum(into for _, _, into in rewritten)
        if compacted := any(into for _, _, into in rewritten):
            last = second
        landings, commits = landings + 1, commits + 1 + compacted
        opened += sum(len(p.files) for p in parts.values())
    seconds = landings * rates.landing_seconds + records * rates.record_seconds + again * rates.byte_seconds
    return {
        "commits": commits, "files": written, "rewritten": again, "task_seconds": seconds,
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
