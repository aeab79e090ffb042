"""Chance that goes on where it stopped: what a record holds follows from the seed and its number alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count

__all__ = ["BLOCK", "Chance", "Clock", "utc_now"]

Clock = Callable[[], datetime]
"""Says what time it is, in UTC."""

BLOCK = 1000
"""Records that share a source of chance: one each would cost 10 us a record, more than making it up."""


def utc_now() -> datetime:
    """The time by this machine's clock."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Chance:
    """Where made-up values come from.

    Args:
        seed: The same seed gives the same records.
        clock: What today is, for records that speak of it.
    """

    seed: int
    clock: Clock = utc_now

    def of(self, *what: str | int) -> random.Random:
        """The dice of one thing, the same whenever they are asked for."""
        return random.Random(":".join(map(str, (self.seed, *what))))

    def blocks(self, name: str, first: int) -> Iterator[tuple[random.Random, int]]:
        """The dice of one block of records after the other, and how many of its records to leave out.

        Args:
            name: Whose records.
            first: The record to begin with, which may lie in the midst of a block.
        """
        for number in count(first // BLOCK):
            yield self.of(name, number), max(0, first - number * BLOCK)
