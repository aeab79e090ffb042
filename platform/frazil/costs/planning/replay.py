"""A model of landings and compactions, by which arrivals are replayed. Pure: it knows no table.

Landings come at even times, take all that waits, and make no commit where nothing does. A compaction is
looked for at each landing, by the rules of the spec.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from frazil.costs.units import objects_put
from frazil.tables.catalogs.requests import OPENED

_SHARE = 0.95
"""Of the records, by which freshness is judged."""

LANDING_READS = 1.0
"""Of a landing that appends, where a table tells of none: the list of manifests that it follows."""

_FULL = 1.1
"""Of the target size, up to which small files are put together, as compactions have it."""


class Arrival(NamedTuple):
    """Records that came in one second."""

    at: float
    records: int


@dataclass(frozen=True, slots=True)
class Rules:
    """When files are put together.

    Args:
        target: Bytes that a file should have.
        small: A file below it is small.
        small_bytes: So many bytes in small files are put together at once.
        compact_after: Seconds after which fewer are, too.
        copies: Bytes of old copies that there may be; beyond, what a compaction left waits for as much again.
        kept_for: Seconds for which old copies are kept.
    """

    target: int
    small: int
    small_bytes: int
    compact_after: float
    copies: int
    kept_for: float


@dataclass(frozen=True, slots=True)
class Rates:
    """What one table's records and files take.

    Args:
        record_bytes: Of a record, in files.
        spread: Files of a small landing with the usual number of records: partitions that it touches.
        usual: That number.
        skew: How many more partitions come with more records, as a power of them (Heaps' law); 0: no more.
        landing_seconds, record_seconds, byte_seconds: CPU of a landing by itself, of each record, and of each
            byte that is compacted.
        landing_reads, file_reads: Requests that read, of a landing and for each file that is compacted.
    """

    record_bytes: float
    spread: float
    landing_seconds: float
    record_seconds: float
    byte_seconds: float
    usual: float = 1.0
    skew: float = 0.0
    landing_reads: float = LANDING_READS
    file_reads: float = OPENED

    def touched(self, records: int) -> float:
        """How many partitions a landing touches: one, and the rarer ones with more records."""
        return float(1 + (self.spread - 1) * (records / self.usual) ** self.skew)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a replay came to.

    Args:
        opened: Files that the table has after a landing, on average: what a reader opens who reads all of it.
        waited: Seconds within which 95 % of the records were landed, but for the landing itself.
        reads: Requests that read, of landings and compactions.
    """

    commits: int
    files: int
    rewritten: int
    task_seconds: float
    opened: float
    waited: float
    reads: float

    @property
    def writes(self) -> int:
        """Objects that were put."""
        return objects_put(self.files, self.commits)

    @property
    def reader_reads(self) -> float:
        """Requests of a reader who reads all of the table, but for its manifests: at least these."""
        return OPENED * self.opened


class _Compacted(NamedTuple):
    """How many bytes, of how many files, into how many."""

    size: int = 0
    files: int = 0
    into: int = 0


@dataclass
class _Partition:
    """The files of one partition: small ones and their bytes, what compactions left, how many are full."""

    rules: Rules
    last: float
    new: list[int] = field(default_factory=list)
    waits: int = 0
    left: list[int] = field(default_factory=list)
    full: int = 0
    copies: list[tuple[float, int]] = field(default_factory=list)

    def land(self, size: int) -> int:
        """Adds a landing's files; how many."""
        count = max(1, -(-size // self.rules.target))
        if size // count < self.rules.small:
            self.new += [size // count] * count
            self.waits += size // count * count
        else:
            self.full += count
        return count

    def compact(self, now: float) -> _Compacted:
        """What is written again now; nothing where nothing is due."""
        taken = self._taken(now) if self._is_due(now) else []
        total = sum(taken)
        into = max(1, -(-total // int(_FULL * self.rules.target)))
        if into >= len(taken):
            return _Compacted()
        kept = [] if len(taken) > len(self.new) else self.left
        small = total // into < self.rules.small
        self.left = [*kept, *([total // into] * into if small else [])]
        self.full += 0 if small else into
        self.new, self.waits, self.last = [], 0, now
        self.copies.append((now, total))
        return _Compacted(total, len(taken), into)

    def _is_due(self, now: float) -> bool:
        return self.waits >= self.rules.small_bytes or now - self.last >= self.rules.compact_after

    def _taken(self, now: float) -> list[int]:
        """The files that go; where there are too many old copies, not those that are more than what came."""
        every = [*self.new, *self.left]
        kept = sum(size for at, size in self.copies if now - at < self.rules.kept_for)
        thrifty = kept + sum(every) > self.rules.copies
        return self.new if thrifty and sum(self.left) > self.waits else every

    @property
    def count(self) -> int:
        """How many files there are."""
        return len(self.new) + len(self.left) + self.full


def replay(arrivals: Iterable[Arrival], every: float, rules: Rules, rates: Rates) -> Outcome:
    """What landing at even times would have come to; the first one is `every` seconds after the first record.

    Partitions are taken to be alike, but for how many of them a landing touches: one of them is replayed.
    """
    landings, waits = _landings(arrivals, every)
    if not landings:
        return Outcome(0, 0, 0, 0.0, 0.0, 0.0, 0.0)
    part = _Partition(rules, min(landings) - every)
    commits = rewritten = opened = fresh = 0
    files, read, spread = 0.0, 0.0, rates.spread
    for at, records in sorted(landings.items()):
        files += part.land(int(records * rates.record_bytes / spread)) * rates.touched(records)
        done = part.compact(at)
        fresh += records
        if done.into:
            commits, files, fresh = commits + 1, files + done.into * rates.touched(fresh), 0
        commits, rewritten = commits + 1, rewritten + done.size
        read += done.files * rates.touched(records)
        opened += part.count
    seconds = len(landings) * rates.landing_seconds + sum(landings.values()) * rates.record_seconds
    seconds += rewritten * spread * rates.byte_seconds
    files_seen = opened * spread / len(landings)
    reads = len(landings) * rates.landing_reads + read * rates.file_reads
    return Outcome(commits, round(files), round(rewritten * spread), seconds, files_seen, _p95(waits), reads)


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
