"""How many records were read, and which: so that a loss and a duplicate do not cancel out.

Each record is known by its partition and offset. Their hashes are joined by XOR, which knows no order,
so that Spark's tasks and a second reader come to the same mark. A record that came twice is gone from it,
and is seen by the count; so count and mark together are right for the planned records only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SHIFT = 44
PLACE = f"shiftleft(CAST(partition AS bigint), {SHIFT}) + offset"
"""Partition and offset as one number, as SQL: half a million partitions, 17 trillion offsets."""

MARK = f"bit_xor(xxhash64({PLACE}))"
"""The mark of some records, as SQL: one aggregate where sums by partition took four each."""

_ONES = (1 << 64) - 1
_CHUNK = 1 << 20
_PRIMES = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)


@dataclass(frozen=True, slots=True)
class Tally:
    """A number of records, and their mark."""

    count: int = 0
    mark: int = 0

    @classmethod
    def of(cls, partition: int, offsets: NDArray[np.int64]) -> Tally:
        """The records at some offsets of a partition."""
        return cls.of_places(offsets + (partition << SHIFT))

    @classmethod
    def of_places(cls, places: NDArray[np.int64]) -> Tally:
        """Records by partition and offset as one number; see `PLACE`."""
        import numpy as np

        hashes = _xxhash64(places.astype(np.uint64))
        return cls(len(places), int(np.bitwise_xor.reduce(hashes, initial=0)))

    @classmethod
    def of_span(cls, partition: int, start: int, to: int) -> Tally:
        """A span whose every offset holds a record."""
        import numpy as np

        starts = range(start, to, _CHUNK)
        return sum((cls.of(partition, np.arange(at, min(at + _CHUNK, to))) for at in starts), cls())

    @classmethod
    def of_spark(cls, count: int, mark: int | None) -> Tally:
        """As Spark counted: its numbers have a sign, and the mark of no record is null."""
        return cls(count, (mark or 0) & _ONES)

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.count + other.count, self.mark ^ other.mark)

    def __str__(self) -> str:
        return f"{self.count} records with the mark {self.mark:016x}"


def _xxhash64(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """XXH64 of 8 bytes each, with Spark's seed: github.com/Cyan4973/xxHash, doc/xxhash_spec.md."""
    import numpy as np

    one, two, three, four, five = (np.uint64(p) for p in _PRIMES)
    mixed = np.uint64(42 + 8) + five ^ _rotated(values * two, 31) * one
    mixed = _rotated(mixed, 27) * one + four
    mixed = (mixed ^ mixed >> np.uint64(33)) * two
    mixed = (mixed ^ mixed >> np.uint64(29)) * three
    return mixed ^ mixed >> np.uint64(32)


def _rotated(values: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    import numpy as np

    return values << np.uint64(bits) | values >> np.uint64(64 - bits)
