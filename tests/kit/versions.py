"""All versions of rows, as a list of changes tells them: what a table with `versions: all` must hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise


@dataclass(frozen=True, slots=True)
class Told:
    """One record: where it stands, and when the source made the change. A tombstone's `op` is None."""

    key: str
    partition: int
    offset: int
    time: int
    op: str | None

    @property
    def ends(self) -> bool:
        return self.op in (None, "d")


Version = tuple[str, int, int, int, int | None, bool]
"""Key, partition and offset of its record, since when, until when, and whether it holds now."""


def versions_of(told: Iterable[Told]) -> set[Version]:
    """The versions of every key, by plain lists."""
    of_key: dict[str, list[tuple[int, int, int, Told]]] = defaultdict(list)
    for (key, partition), stream in _streams(told).items():
        heard = [stream[0], *(b for a, b in pairwise(stream) if not (b.op is None and a.ends))]
        begins = accumulate((one.time for one in heard), max)
        of_key[key] += ((at, partition, one.offset, one) for at, one in zip(begins, heard, strict=True))
    found = set()
    for key, versions in of_key.items():
        ordered = sorted(versions, key=lambda v: v[:3])
        following = [at for at, *_ in ordered[1:]] + [None]
        for (at, partition, offset, one), after in zip(ordered, following, strict=True):
            until = at if one.ends else after
            found.add((key, partition, offset, at, until, until is None))
    return found


def _streams(told: Iterable[Told]) -> dict[tuple[str, int], list[Told]]:
    """Each key's records of each partition, by offset."""
    found: dict[tuple[str, int], list[Told]] = defaultdict(list)
    for one in sorted(told, key=lambda t: t.offset):
        found[one.key, one.partition].append(one)
    return found
