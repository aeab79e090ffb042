"""A model of landings and compactions, by which arrivals are replayed. Pure: it knows no table.

Landings come at even times, take all that waits, and make no commit where nothing does. A compaction is
looked for at each landing, and takes what one of a table would take.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from frazil.costs.units import objects_put
from frazil.tables.catalogs.requests import OPENED
from frazil.upkeep.planning.partition import Partition, Rates, Rules

_SHARE = 0.95
"""Of the records, by which freshness is judged."""


class Arrival(NamedTuple):
    """Records that came in one second."""

    at: float
    records: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a replay came to.

    Args:
        opened: Files that the table has after a landing, on average: what a reader opens who reads all of it.
        waited: Seconds within which 95 % of the records were landed, but for the landing itself.
        reads: Requests that read, of landings and compactions.
        rewrites: Commits that replaced files; each puts a manifest more, which says that they are gone.
    """

    commits: int
    files: int
    rewritten: int
    task_seconds: float
    opened: float
    waited: float
    reads: float
    rewrites: int = 0

    @property
    def writes(self) -> int:
        """Objects that were put."""
        return objects_put(self.files, self.commits) + self.rewrites

    @property
    def reader_reads(self) -> float:
        """Requests of a reader who reads all of the table, but for its manifests: at least these."""
        return OPENED * self.opened


def replay(arrivals: Iterable[Arrival], every: float, rules: Rules, rates: Rates) -> Outcome:
    """What landing at even times would have come to; the first one is `every` seconds after the first record.

    Partitions are taken to be alike, but for how many of them a landing touches: one of them is replayed.
    """
    landings, waits = _landings(arrivals, every)
    if not landings:
        return Outcome(0, 0, 0, 0.0, 0.0, 0.0, 0.0)
    part = Partition(rules, rates)
    commits = rewrites = 0
    files = read = rewritten = opened = 0.0
    for at, records in sorted(landings.items()):
        files += part.land(records)
        done = part.compact(at)
        commits, files = commits + 1 + done.commits, files + done.into
        rewritten, read, rewrites = rewritten + done.bytes, read + done.files, rewrites + bool(done.files)
        opened += part.count
    seconds = len(landings) * rates.landing_seconds + sum(landings.values()) * rates.record_seconds
    seconds += rewritten * rates.byte_seconds
    reads = len(landings) * rates.landing_reads + read * rates.file_reads
    opened /= len(landings)
    return Outcome(commits, round(files), round(rewritten), seconds, opened, _p95(waits), reads, rewrites)


def _p95(waits: Mapping[float, int]) -> float:
    """The shortest wait within which 95 % of the records were landed; `waits` counts records by theirs."""
    left = _SHARE * sum(waits.values())
    for wait in sorted(waits):
        left -= waits[wait]
        if left <= 0:
            return wait
    return max(waits)


def _landings(arrivals: Iterable[Arrival], every: float) -> tuple[dict[float, int], dict[float, int]]:
    """Records by the time of the landing that takes them, and by how long they wait for it."""
    by_moment: dict[float, int] = {}
    waits: dict[float, int] = {}
    begin: float | None = None
    for at, records in arrivals:
        begin = at if begin is None else begin
        turn = max(1, int(-((begin - at) // every)))
        when = begin + turn * every
        by_moment[when] = by_moment.get(when, 0) + records
        wait = when - at + 1  # since the begin of its second
        waits[wait] = waits.get(wait, 0) + records
    return by_moment, waits
