"""What a compaction rewrites, over all partitions: a census counts the very bins that Spark is given.

Each compaction of a slow table takes the small file that the last one left once more, and old snapshots keep
every copy: a table of a few megabytes would fill gigabytes. So where there are more copies than the spec
allows, bins become lean: a file that a compaction wrote is left alone until they expire, and so is one that
is larger than all that it would be put together with.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from frazil.tables.metadata.files import LiveFile
from frazil.tables.metadata.snapshots import ancestors, summary_of
from frazil.upkeep.compaction.bins import Bin, Rule, bins_of, lean

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot


Partition = tuple[Any, ...] | None
"""Values of a partition; None for all files of older layouts."""


@dataclass(frozen=True, slots=True)
class Copies:
    """Bytes of files that only older snapshots of `main` hold, and the snapshots that rewrote files."""

    bytes: int = 0
    made_by: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Plan:
    """The bins of a table, by partition."""

    bins: Mapping[Partition, list[Bin]] = field(default_factory=dict)
    copies: int = 0  # bytes that only older snapshots hold
    allowed: int = 0  # how many such bytes there may be
    thrifty: bool = False  # whether some bins are lean, because there would be too many


def read_copies(metadata: TableMetadata) -> Copies:
    """The copies that a table's snapshots hold, from summaries alone; the metadata must have all snapshots.

    What the oldest snapshot removed is in none of them. Files of a tag's line and of what a rollback left
    behind are not counted.
    """
    line = list(ancestors(metadata))
    removed = sum(_removed(newer) for newer, _ in pairwise(line))
    return Copies(removed, frozenset(s.snapshot_id for s in line if is_rewrite(s)))


def is_rewrite(snapshot: Snapshot) -> bool:
    """Whether it holds the same rows as the one before, in other files."""
    return snapshot.summary is not None and snapshot.summary.operation.value == "replace"


def _removed(snapshot: Snapshot) -> int:
    size = summary_of(snapshot).get("removed-files-size", "")
    return int(size) if size.isdigit() else 0


def group_files(files: Iterable[LiveFile], layout: int) -> dict[Partition, list[LiveFile]]:
    """Files by partition, as a compaction groups them; those of an older layout are one group, None."""
    groups: dict[Partition, list[LiveFile]] = defaultdict(list)
    for file in files:
        groups[file.partition if file.spec_id == layout else None].append(file)
    return groups


def plan_bins(
    files: Iterable[LiveFile],
    layout: int,
    rule: Rule,
    copies: Copies | None = None,
    *,
    shuffled: int | None = None,
    everything: bool = False,
) -> Plan:
    """The bins of all partitions.

    Args:
        files: All data files.
        layout: Id of the partition spec that new files have.
        rule: Which sizes are right, and how many copies there may be.
        copies: Those that there are; None: they do not matter.
        shuffled: The most bytes that Spark shuffles at once, where that is less than the rule's.
        everything: Take files that are as they should be, too, whatever copies there are.
    """
    groups = group_files(files, layout)
    at_once = {key: _most(key, rule, shuffled) for key in groups}
    bins = {key: bins_of(group, rule, at_once[key], everything=everything) for key, group in groups.items()}
    if copies is None or everything:
        return Plan(bins)
    allowed = rule.copies_of(sum(f.bytes for group in groups.values() for f in group))
    chosen = within(bins, rule, copies, allowed - copies.bytes)
    return Plan(chosen, copies.bytes, allowed, thrifty=chosen != bins)


def _most(key: Partition, rule: Rule, shuffled: int | None) -> int:
    if key is not None and not rule.sorts:
        return 0
    return rule.shuffled if shuffled is None else min(rule.shuffled, shuffled)


def within(
    bins: Mapping[Partition, list[Bin]], rule: Rule, copies: Copies, spare: int
) -> dict[Partition, list[Bin]]:
    """Whole bins as far as the bytes go, those first that save most files for them; else lean ones."""
    whole: set[int] = set()
    every = [b for of in bins.values() for b in of]
    for one in sorted(every, key=lambda b: b.saved_per_byte, reverse=True):
        if one.bytes <= spare:
            whole.add(id(one))
            spare -= one.bytes
    return {
        key: [kept for b in of if (kept := b if id(b) in whole else lean(b, rule, copies.made_by))]
        for key, of in bins.items()
    }


_BYTES = 2**30  # of one round: half a minute's work of two cores


@dataclass(frozen=True, slots=True)
class Round:
    """Bins that are rewritten together; each round is published by itself, so a kill loses one."""

    bins: tuple[Bin, ...]
    older: bool = False  # whether the files are of an older layout

    @property
    def files(self) -> tuple[LiveFile, ...]:
        """The files that it rewrites."""
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
        """The round with only the bins whose files are all still there; None where there are none."""
        return self._of(b for b in self.bins if all(f.path in paths for f in b.files))

    def besides(self, paths: Container[str]) -> Round | None:
        """The round without the bins that hold none of these files, and would not become fewer."""
        return self._of(b for b in self.bins if b.saved > 0 or any(f.path in paths for f in b.files))

    def _of(self, bins: Iterable[Bin]) -> Round | None:
        kept = tuple(bins)
        return replace(self, bins=kept) if kept else None


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

    `most` bounds the bytes, though one bin is always allowed; `everything` has no such bound. See `plan_bins`
    for the others.
    """
    shuffled = min(rule.shuffled, most)  # sorted by itself, or cut by new partitions
    plan = plan_bins(files, layout, rule, copies, shuffled=shuffled, everything=everything)
    older = plan.bins.get(None, [])
    groups = [bins for key, bins in plan.bins.items() if key is not None]
    groups.sort(key=lambda bins: -sum(b.saved for b in bins))
    current = [b for bins in groups for b in bins]
    if not everything:
        older, current = _first(older, most), _first(current, most - sum(b.bytes for b in older))
    return [
        *(Round(bins, older=True) for bins in _cut(older)),
        *(Round(bins) for bins in _cut(current)),
    ]


def _first(bins: Sequence[Bin], most: int) -> list[Bin]:
    """As many bins as the bytes allow; at least one, where they allow anything."""
    sizes = accumulate(b.bytes for b in bins)
    return list(bins[: max(most > 0, sum(size <= most for size in sizes))])


def _cut(bins: Iterable[Bin]) -> Iterator[tuple[Bin, ...]]:
    """Bins in rounds."""
    members: list[Bin] = []
    for one in bins:
        if members and sum(b.bytes for b in members) + one.bytes > _BYTES:
            yield tuple(members)
            members = []
        members.append(one)
    if members:
        yield tuple(members)
