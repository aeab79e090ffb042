"""The rounds of one compaction: each is rewritten and published by itself, so that a kill loses one only."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from frazil.tables.files import LiveFile
from frazil.upkeep.compaction.bins import Bin, Rule
from frazil.upkeep.compaction.plan import Copies, plan_bins

__all__ = ["Round", "plan_rounds"]

_BYTES = 2**30
"""Of one round: half a minute's work of two cores."""


@dataclass(frozen=True, slots=True)
class Round:
    """What one call of Iceberg's procedure rewrites.

    Args:
        bins: The files, as they are rewritten together.
        group: Most bytes that Spark rewrites in one job.
        target: Size of the files that it makes, for Iceberg's arithmetic.
        older: Whether they come from an older layout.
    """

    bins: tuple[Bin, ...]
    group: int
    target: int
    older: bool = False

    @property
    def files(self) -> tuple[LiveFile, ...]:
        """All files that it rewrites."""
        return tuple(f for b in self.bins for f in b.files)

    @property
    def bytes(self) -> int:
        """Their bytes."""
        return sum(b.bytes for b in self.bins)

    @property
    def into(self) -> int:
        """How many files they become."""
        return sum(b.into for b in self.bins)

    def among(self, paths: Container[str]) -> Round | None:
        """The same with those bins only whose files are all still there; None where there are none."""
        bins = tuple(b for b in self.bins if all(f.path in paths for f in b.files))
        return replace(self, bins=bins) if bins else None


def plan_rounds(
    files: Iterable[LiveFile],
    layout: int,
    rule: Rule,
    most: int,
    copies: Copies | None = None,
    *,
    everything: bool = False,
) -> list[Round]:
    """What to rewrite, partition by partition, those first in which most is gained.

    Args:
        files: All data files.
        layout: Id of the partition spec that new files have.
        rule: Which sizes are right.
        most: Most bytes in all; one bin is always allowed. Everything has no such bound.
        copies: What old snapshots hold; None: it does not matter.
        everything: Rewrite the files, too, that are as they should be.
    """
    shuffled = min(rule.shuffled, most)  # sorted by itself, or cut by new partitions
    plan = plan_bins(files, layout, rule, copies, shuffled=shuffled, everything=everything)
    older = plan.bins.get(None, [])
    found = [bins for key, bins in plan.bins.items() if key is not None]
    found.sort(key=lambda bins: -sum(b.saved for b in bins))
    current = [b for bins in found for b in bins]
    if not everything:
        older, current = _first(older, most), _first(current, most - sum(b.bytes for b in older))
    plain = (rule.full, rule.full + 1)  # a bin below Iceberg's target size becomes one file
    return [
        *(Round(bins, shuffled, rule.target, older=True) for bins in _cut(older)),
        *(Round(bins, *((shuffled, rule.target) if rule.sorts else plain)) for bins in _cut(current)),
    ]


def _first(bins: Sequence[Bin], most: int) -> list[Bin]:
    """As many as the bytes allow; where they allow anything, one at least."""
    sizes = accumulate(b.bytes for b in bins)
    return list(bins[: max(most > 0, sum(size <= most for size in sizes))])


def _cut(bins: Iterable[Bin]) -> Iterator[tuple[Bin, ...]]:
    """The same in rounds."""
    held: list[Bin] = []
    for one in bins:
        if held and sum(b.bytes for b in held) + one.bytes > _BYTES:
            yield tuple(held)
            held = []
        held.append(one)
    if held:
        yield tuple(held)
