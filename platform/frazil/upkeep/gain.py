"""What a compaction would take, and how many files it would make of that: Iceberg's own rule.

`SizeBasedFileRewritePlanner` and `BinPackRewriteFilePlanner` of Iceberg 1.12, with min-input-files 2.
Counting what comes out, not only what goes in, keeps a table that can't get better from being
rewritten for ever: two files of 0.7 of the target size become two files of that size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from frazil.keeping import Upkeep
from frazil.upkeep.files import LiveFile

__all__ = ["DELETED_SHARE", "Gain", "Rule", "gain_of"]

DELETED_SHARE = 0.3
"""Share of deleted rows from which a data file is rewritten whatever its size."""

_LARGE = 1.8
_ROUND_DOWN = 1.1
_SPLIT_OVERHEAD = 5 * 1024
_LOOK_BACK = 10
"""Bins that Iceberg keeps open while it packs splits into tasks (read.split.planning-lookback)."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Which sizes are right.

    Args:
        target: The size that files should have.
        small: Below it a file is small.
        large: Above it a file is too large.
        sorts: Whether rows are shuffled into order, so that a file's end need not be one of a file read.
    """

    target: int
    small: int
    large: int
    sorts: bool = False

    @classmethod
    def of(cls, upkeep: Upkeep, target: int, *, sorts: bool = False) -> Rule:
        """The rule of a spec."""
        return cls(target, int(upkeep.small_file * target), int(_LARGE * target), sorts)

    @property
    def most(self) -> int:
        """Size at which a writer begins a new file."""
        return int(self.target + (self.large - self.target) * 0.5)


@dataclass(frozen=True, slots=True)
class Gain:
    """What a compaction of one partition is good for.

    Args:
        files: Files that it would rewrite.
        bytes: Their bytes.
        into: Files that it would make of them.
        large: Files too large, which it would cut.
        deleted: Files of which it would leave out enough deleted rows.
    """

    files: int = 0
    bytes: int = 0
    into: int = 0
    large: int = 0
    deleted: int = 0

    @property
    def saved(self) -> int:
        """Files fewer than before; cutting a large file saves none."""
        return max(0, self.files - self.into)

    def __bool__(self) -> bool:
        return bool(self.saved or self.large or self.deleted)

    def __add__(self, other: Gain) -> Gain:
        return Gain(
            self.files + other.files,
            self.bytes + other.bytes,
            self.into + other.into,
            self.large + other.large,
            self.deleted + other.deleted,
        )


def gain_of(files: Iterable[LiveFile], rule: Rule) -> Gain:
    """The gain of compacting the files of one partition; empty where it would not get better."""
    taken = [f for f in files if _out_of_range(f, rule) or f.deleted_share >= DELETED_SHARE]
    large = sum(f.bytes > rule.large for f in taken)
    deleted = sum(f.deleted_share >= DELETED_SHARE for f in taken)
    if len(taken) < 2 and not large and not deleted:
        return Gain()
    gain = Gain(len(taken), sum(f.bytes for f in taken), _files_after(taken, rule), large, deleted)
    return gain if gain else Gain()


def _out_of_range(file: LiveFile, rule: Rule) -> bool:
    return file.bytes < rule.small or file.bytes > rule.large


def _files_after(files: Sequence[LiveFile], rule: Rule) -> int:
    size = sum(f.bytes for f in files)
    expected = _expected(size, rule)
    if rule.sorts:
        return expected
    target = max(rule.target, min(size // expected + _SPLIT_OVERHEAD, rule.most))
    tasks = _packed([part for f in files for part in f.splits or (f.bytes,)], target)
    return sum(max(1, math.ceil(task / rule.most)) for task in tasks)


def _expected(size: int, rule: Rule) -> int:
    """`expectedOutputFiles`: a remainder goes along where that makes files at most a tenth too large."""
    if size < rule.target:
        return 1
    whole, rest = divmod(size, rule.target)
    spread = rest <= rule.small and size / whole < min(_ROUND_DOWN * rule.target, rule.most)
    return whole if spread or not rest else whole + 1


def _packed(sizes: Iterable[int], most: int) -> list[int]:
    """`BinPacking`: each size goes into the first open bin that has room."""
    closed: list[int] = []
    bins: list[int] = []
    for size in sizes:
        place = next((i for i, held in enumerate(bins) if held + size <= most), None)
        if place is not None:
            bins[place] += size
            continue
        bins.append(size)
        if len(bins) > _LOOK_BACK:
            closed.append(max(bins))
            bins.remove(max(bins))
    return closed + bins
