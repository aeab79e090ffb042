"""Landings and compactions played second by second and file by file: the oracle of replays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random

from frazil.costs.planning.replay import Arrival, Rates, Rules

Pattern = Callable[[Random], list[Arrival]]


def simulated(arrivals: Sequence[Arrival], every: int, rules: Rules, rates: Rates) -> dict[str, float]:
    """Second by second, with each file as (its size, whether a landing or a compaction made it)."""
    waiting, files, rewritings = 0, [], []  # type: ignore[var-annotated]
    landings = commits = written = records = opened = 0
    begin, end = int(arrivals[0].at), int(arrivals[-1].at) + every
    last, came, waits = float(begin), {}, []  # type: ignore[var-annotated]
    for arrival in arrivals:
        came[int(arrival.at)] = came.get(int(arrival.at), 0) + arrival.records
    since: list[int] = []
    for second in range(begin, end + 1):
        waiting += came.get(second, 0)
        since += [second] * came.get(second, 0)
        if (second - begin) % every or second == begin or not waiting:
            continue
        waits += [second - at + 1 for at in since]
        since = []
        size, records, waiting = int(waiting * rates.record_bytes), records + waiting, 0
        parts = max(1, math.ceil(size / rules.target))
        files += [(size // parts, "landed")] * parts
        landings, commits, written = landings + 1, commits + 1, written + parts
        fresh = [f for f in files if f[0] < rules.small and f[1] == "landed"]
        stale = [f for f in files if f[0] < rules.small and f[1] == "compacted"]
        bytes_of = lambda some: sum(size for size, _ in some)  # noqa: E731
        copies = sum(n for at, n in rewritings if second - at < rules.kept_for)
        crowded = copies + bytes_of(fresh) + bytes_of(stale) > rules.copies
        taken = fresh if crowded and bytes_of(stale) > bytes_of(fresh) else fresh + stale
        due = bytes_of(fresh) >= rules.small_bytes or second - last >= rules.compact_after
        total = bytes_of(taken)
        into = max(1, math.ceil(total / int(1.1 * rules.target)))
        if due and into < len(taken):
            for gone in taken:
                files.remove(gone)
            files += [(total // into, "compacted")] * into
            rewritings.append((second, total))
            commits, written, last = commits + 1, written + into, float(second)
        opened += len(files)
    again = sum(n for _, n in rewritings)
    seconds = landings * rates.landing_seconds + records * rates.record_seconds + again * rates.byte_seconds
    return {
        "commits": commits, "files": written, "rewritten": again, "task_seconds": seconds,
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
