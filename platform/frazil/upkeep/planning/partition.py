"""A model of one partition of a table: its files, and what compactions take of them, by their own rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from frazil.tables.catalogs.requests import OPENED
from frazil.tables.metadata.files import LiveFile
from frazil.upkeep.compaction.bins import Bin, Left, Rule, bins_of, waiting
from frazil.upkeep.compaction.plan import Copies, within

LANDING_READS = 1.0
"""Of a landing that appends, where a table tells of none: the list of manifests that it follows."""


class Copy(NamedTuple):
    """Bytes that a compaction replaced, and when."""

    at: float
    bytes: int


@dataclass(frozen=True, slots=True)
class Rules:
    """When files are put together.

    Args:
        rule: Which sizes are right, and how many old copies there may be.
        small_bytes: So many bytes in small files are put together at once.
        compact_after: Seconds after which fewer are, too.
        kept_for: Seconds for which old copies are kept.
        manifests: More than these are put together.
        live: Bytes of the table before what is replayed came.
        copies: What compactions had replaced by then; the last one ended when the newest was made.
    """

    rule: Rule
    small_bytes: int
    compact_after: float
    kept_for: float
    manifests: int = 50
    live: int = 0
    copies: Sequence[Copy] = ()


@dataclass(frozen=True, slots=True)
class Rates:
    """What one table's records and files take.

    Args:
        record_bytes, file_bytes: Of each record, and of each file beside them.
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
    file_bytes: float = 0.0
    usual: float = 1.0
    skew: float = 0.0
    landing_reads: float = LANDING_READS
    file_reads: float = OPENED

    def touched(self, records: float) -> float:
        """How many partitions a landing touches: one, and the rarer ones with more records."""
        return float(1 + (self.spread - 1) * (records / self.usual) ** self.skew)

    def size(self, records: float) -> int:
        """Bytes of a file."""
        return int(self.file_bytes + records * self.record_bytes)


class Compacted(NamedTuple):
    """What one compaction wrote again, and in how many commits, in all partitions."""

    bytes: float = 0
    files: float = 0
    into: float = 0
    commits: int = 0


@dataclass
class Partition:
    """One of `rates.spread` partitions that are alike.

    Args:
        last, looked: When a compaction ended, and when one was looked for.
        fresh: Bytes that were landed since it was looked for, and `waits` those that waited then.
        whole: Commits that files of the right size are of.
        manifests: One of each commit whose files are still there, and one of those that were put together.
    """

    rules: Rules
    rates: Rates
    last: float = field(init=False)
    looked: float = -math.inf
    fresh: int = 0
    waits: int = 0
    small: list[LiveFile] = field(default_factory=list)
    full: int = 0
    live: int = 0
    sequence: int = 0
    left: Left = field(default_factory=Left)
    whole: set[int] = field(default_factory=set)
    gathered: int = 0
    manifests: int = 0
    copies: list[Copy] = field(init=False)
    _touched: dict[str, float] = field(default_factory=dict)  # by how many partitions a file stands for

    def __post_init__(self) -> None:
        self.copies = [Copy(at, self._own(size)) for at, size in self.rules.copies]
        self.last = max((at for at, _ in self.copies), default=-math.inf)
        self.live = self._own(self.rules.live)

    def land(self, records: int) -> float:
        """Adds a landing's files; how many, in all partitions."""
        own, touched = records / self.rates.spread, self.rates.touched(records)
        count = max(1, -(-self.rates.size(own) // self.rules.rule.target))
        self.sequence, self.manifests = self.sequence + 1, self.manifests + 1
        self.fresh += self._add([own / count] * count, touched)
        return count * touched

    def compact(self, now: float) -> Compacted:
        """What is written again now; nothing where nothing is due."""
        if not self._may_be_due(now):
            return Compacted()
        bins, is_time = self._bins(now), now - self.last >= self.rules.compact_after
        self.waits, self.fresh = sum(waiting(each, self.rules.rule, self.left) for each in bins), 0
        crowded = self.manifests > self.rules.manifests
        if not (crowded or (bins and (is_time or self._is_enough(self.waits)))):
            self.looked = now
            return Compacted()
        return self._write(bins, now)

    @property
    def count(self) -> float:
        """How many files there are, in all partitions."""
        return (len(self.small) + self.full) * self.rates.spread

    def _own(self, size: float) -> int:
        """The share of a partition."""
        return int(size / self.rates.spread)

    def _is_enough(self, size: int) -> bool:
        return size * self.rates.spread >= self.rules.small_bytes

    def _may_be_due(self, now: float) -> bool:
        if self.count <= 1 and not self.rules.live:
            return False
        is_time = now - max(self.last, self.looked) >= self.rules.compact_after
        return is_time or self._is_enough(self.waits + self.fresh) or self.manifests > self.rules.manifests

    def _bins(self, now: float) -> Sequence[Bin]:
        rule = self.rules.rule
        kept = sum(size for at, size in self.copies if now - at < self.rules.kept_for)
        spare = self._own(rule.copies_of(int(self.live * self.rates.spread))) - kept
        whole = bins_of(self.small, rule)
        return within({(): whole}, rule, Copies(kept, self.left.made_by), spare)[()]

    def _write(self, bins: Sequence[Bin], now: float) -> Compacted:
        taken = [file for each in bins for file in each.files]
        size, gone = sum(file.bytes for file in taken), {file.path for file in taken}
        files = sum(self._touched.pop(path) for path in gone)
        self.small = [file for file in self.small if file.path not in gone]
        self.live -= size
        if bins:
            self.sequence += 1
            self.left = Left(self.sequence, self.left.made_by | {self.sequence})
            self.copies.append(Copy(now, size))
        into = sum(self._merge(each) for each in bins)
        self.last, self.looked = now, -math.inf
        return Compacted(size * self.rates.spread, files, into, bool(bins) + self._gather())

    def _gather(self) -> bool:
        """Whether manifests are put together, for there are too many."""
        commits = {file.sequence for file in self.small} | self.whole
        self.manifests = len({max(number, self.gathered) for number in commits})
        gathers = self.manifests > self.rules.manifests
        if gathers:
            self.sequence, self.manifests = self.sequence + 1, 1
            self.gathered = self.sequence
        return gathers

    def _merge(self, made: Bin) -> float:
        records = sum(file.records for file in made.files)
        touched = self.rates.touched(min(records * self.rates.spread, self.rates.usual))
        self._add([records / made.into] * made.into, touched)
        return made.into * touched

    def _add(self, files: Sequence[float], touched: float) -> int:
        """Files of so many records each, by the newest commit; their bytes."""
        sizes = [self.rates.size(records) for records in files]
        for records, size in zip(files, sizes, strict=True):
            if size >= self.rules.rule.small:
                self.full += 1
                self.whole.add(self.sequence)
                continue
            path, by = f"{len(self._touched):09}/{self.sequence}", self.sequence
            self._touched[path] = touched
            self.small.append(LiveFile(path, size, round(records), sequence=by, snapshot_id=by))
        self.live += sum(sizes)
        return sum(sizes)
