"""Which files a compaction makes one of: small ones that lie together, up to the size that files should have.

Every bin is one task of Spark and becomes fewer files than it has, most often one; a compaction that would
make none fewer does not begin. (Iceberg's own planner rewrites two files of 0.7 of the target size into two
such files, forever.)
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from frazil.spec.upkeep import Upkeep
from frazil.tables.metadata.files import LARGEST, LiveFile

_ROOM = 1.1
"""What one of several files may have of its share, for encodings differ."""

_TOGETHER = 4
"""Files of which no two make one, and which are looked at together: three of 0.6 of the target become two."""

_LARGE = 1.8
_FULL = 1.1


@dataclass(frozen=True, slots=True)
class Rule:
    """Which sizes are right, in bytes, and how many bytes may be written again."""

    target: int
    small: int
    large: int
    sorts: bool = False  # whether Spark shuffles the rows into order; it cuts the files itself then
    share: float = 0.0  # old copies that there may be, per byte of the table
    deleted: float = 1.0  # share of deleted rows from which a file is rewritten
    deletes: float = math.inf  # delete files that a reader may have to open for a file

    @classmethod
    def of(cls, upkeep: Upkeep, target: int, *, sorts: bool = False) -> Rule:
        """The rule of a spec."""
        small, large = int(upkeep.small_file * target), int(_LARGE * target)
        budget = upkeep.deleted_share, upkeep.delete_files
        return cls(target, small, large, sorts, upkeep.copies_share, *budget)

    @property
    def full(self) -> int:
        """Most bytes of which one file is made: a tenth more than the target leaves fewer remainders."""
        return int(_FULL * self.target)

    @property
    def shuffled(self) -> int:
        """Most bytes that Spark shuffles at once: to sort them, or to cut them by new partitions."""
        return max(2**30, 8 * self.target)

    def copies_of(self, live: int) -> int:
        """Bytes of old copies that a table with `live` bytes may have; one file's, at least."""
        return max(int(self.share * live), self.target)

    def is_bad(self, file: LiveFile) -> bool:
        """Whether a file is rewritten even by itself."""
        return file.bytes > self.large or self.is_over(file)

    def is_over(self, file: LiveFile) -> bool:
        """Whether a file has more delete files than the budget lets a reader open."""
        if not (file.deletes or file.deleted):
            return False  # as most are, and plans of freshness ask very often
        return file.deleted_share >= self.deleted or file.deletes > self.deletes

    def takes(self, file: LiveFile) -> bool:
        """Whether a file is not as it should be."""
        return file.bytes < self.small or self.is_bad(file)


@dataclass(frozen=True, slots=True)
class Left:
    """Which files the last compaction left: those that it had seen, and those that compactions wrote.

    What was landed while it ran is older than its commit, and it saw nothing of that.
    """

    seen: int = 0  # sequence number of the head that it was planned on
    made_by: frozenset[int] = frozenset()  # snapshots of compactions

    def __contains__(self, file: LiveFile) -> bool:
        return file.sequence <= self.seen or file.snapshot_id in self.made_by


def waiting(bin_: Bin, rule: Rule, left: Left) -> int:
    """Bytes of small files of a bin that wait for a compaction.

    The one small file that a compaction leaves per partition does not count: with a hundred
    partitions those alone would ask for the next compaction at once, and forever.
    """
    new = [f for f in bin_.files if f not in left]
    unfinished = len(bin_.files) - len(new) > bin_.into
    return sum(f.bytes for f in (bin_.files if unfinished else new) if f.bytes < rule.small)


@dataclass(frozen=True, slots=True)
class Bin:
    """Files of one partition that are rewritten together, and how many they become."""

    files: tuple[LiveFile, ...]
    into: int
    shuffled: bool = False

    @property
    def bytes(self) -> int:
        """Bytes of its files."""
        return sum(f.bytes for f in self.files)

    @property
    def most(self) -> int:
        """Bytes of each new file, so that they are as many as were planned."""
        return int(_ROOM * self.bytes / self.into) if self.into > 1 else LARGEST

    @property
    def saved(self) -> int:
        """Files fewer than before; negative where large ones are cut."""
        return len(self.files) - self.into

    @property
    def saved_per_byte(self) -> float:
        """What makes one bin better than another where bytes are few."""
        return self.saved / max(1, self.bytes)


@dataclass(frozen=True, slots=True)
class Gain:
    """The files that a compaction would rewrite, and how many they would become; false without any."""

    files: int = 0
    bytes: int = 0
    into: int = 0
    large: int = 0  # files that are too large, and would be cut
    over: int = 0  # files for which the budget of delete files is used up

    @property
    def saved(self) -> int:
        """How many files fewer there would be; cutting a large file saves none."""
        return max(0, self.files - self.into)

    def __bool__(self) -> bool:
        return self.files > 0


def gain_of(bins: Iterable[Bin], rule: Rule) -> Gain:
    """The gain of rewriting some bins."""
    bins = list(bins)
    taken = [file for bin_ in bins for file in bin_.files]
    return Gain(
        files=len(taken),
        bytes=sum(f.bytes for f in taken),
        into=sum(bin_.into for bin_ in bins),
        large=sum(f.bytes > rule.large for f in taken),
        over=sum(map(rule.is_over, taken)),
    )


def bins_of(files: Iterable[LiveFile], rule: Rule, most: int = 0, *, everything: bool = False) -> list[Bin]:
    """The bins of one partition, or of all older layouts; none where it would not get better.

    `most` bounds the bytes of one bin where Spark shuffles; 0: it does not shuffle. `everything` takes files,
    too, that are as they should be.
    """
    taken = sorted((f for f in files if everything or rule.takes(f)), key=lambda f: (f.sequence, f.path))
    bins = [_bin(b, rule, bool(most)) for b in _packed(taken, most or rule.full)]
    if everything:
        return bins
    good = [b for b in bins if _gains(b, rule)]
    alone = [file for b in bins if not _gains(b, rule) for file in b.files]
    return good if most else [*good, *_joined(alone, rule)]


def lean(bin_: Bin, rule: Rule, copies_of: Container[int | None]) -> Bin | None:
    """As much of a bin as is worth its bytes, whatever copies there are; None where nothing is.

    Each byte is then written again once, and later only into files of twice the size. Files of the snapshots
    in `copies_of` are copies already.
    """
    fit = [f for f in bin_.files if rule.is_bad(f) or f.snapshot_id not in copies_of]
    good = sorted((f for f in fit if not rule.is_bad(f)), key=lambda f: f.bytes)
    sums = enumerate(accumulate(f.bytes for f in good))
    most = max((n + 1 for n, total in sums if 2 * good[n].bytes <= total), default=0)
    left = {f.path for f in good[most:]}
    made = _bin([f for f in fit if f.path not in left], rule, bin_.shuffled)
    return made if _gains(made, rule) else None


def _bin(files: Sequence[LiveFile], rule: Rule, shuffled: bool) -> Bin:
    return Bin(tuple(files), _into(files, rule, shuffled), shuffled)


def _packed(files: Iterable[LiveFile], most: int) -> list[list[LiveFile]]:
    """Files that follow each other, as Iceberg's planner packs them into groups."""
    bins: list[list[LiveFile]] = []
    room = 0
    for file in files:
        if not bins or file.bytes > room:
            bins.append([])
            room = most
        bins[-1].append(file)
        room -= file.bytes
    return bins


def _joined(files: Iterable[LiveFile], rule: Rule) -> Iterator[Bin]:
    """Files that are each too large for the next one, put together as soon as that leaves fewer."""
    members: list[LiveFile] = []
    for file in files:
        members = [*members, file][-_TOGETHER:]
        made = _bin(members, rule, shuffled=False)
        if _gains(made, rule):
            yield made
            members = []


def _into(files: Sequence[LiveFile], rule: Rule, shuffled: bool) -> int:
    size = sum(f.bytes for f in files)
    if not shuffled and size <= rule.full:
        return 1
    whole, rest = divmod(size, rule.target)
    spread = rest <= rule.small and size < _FULL * rule.target * whole
    return whole if whole and (spread or not rest) else whole + 1


def _gains(bin_: Bin, rule: Rule) -> bool:
    return any(map(rule.is_bad, bin_.files)) or bin_.saved > 0
