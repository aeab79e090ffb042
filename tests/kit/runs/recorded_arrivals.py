"""Arrivals that others recorded, and the snapshots of a table that landed them as they were counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from frazil.landing.position.ledger import Ledger
from frazil.upkeep.planning.partition import Rates
from frazil.upkeep.planning.replay import Arrival
from kit.tables.histories import START, History

PATTERNS = ("steady", "bursts", "nights", "one_huge_partition")

_FOLDER = Path(__file__).with_name("arrivals")


@dataclass(frozen=True, slots=True)
class Recorded:
    """How many records came to each partition in times of equal length; each file says where it is from."""

    seconds: int
    partitions: Mapping[str, Sequence[int]]

    @classmethod
    def of(cls, pattern: str) -> Recorded:
        """One of `PATTERNS`."""
        return cls(**yaml.safe_load((_FOLDER / f"{pattern}.yaml").read_text()))

    @property
    def arrivals(self) -> dict[str, list[Arrival]]:
        """By the second. A count does not say when in its time they came, so they come evenly."""
        return {name: [*self._spread(counts)] for name, counts in self.partitions.items()}

    def _spread(self, counts: Sequence[int]) -> Iterator[Arrival]:
        for number, count in enumerate(counts):
            for nth in range(count):
                second = -(-self.seconds * (nth + 1) // count)
                yield Arrival(START + number * self.seconds + second, 1)

    def history(self, rates: Rates) -> History:
        """A table's snapshots, where it landed each count at the end of its time."""
        history, at = History(), 0
        for counts in [(1,), *zip(*self.partitions.values(), strict=True)]:
            if came := sum(counts):
                history.commit(summary=self._landed(at, counts, int(history.now * 1000), rates))
                at += came
            history.now += self.seconds
        return history

    def _landed(self, at: int, counts: Sequence[int], newest: int, rates: Rates) -> dict[str, str]:
        came = sum(counts)
        ledger = Ledger("t", "id", {0: (at, at + came)}, {0: 0}, records=came, max_timestamp=newest)
        return {
            **ledger.properties(),
            "frazil.task-seconds": f"{rates.landing_seconds + came * rates.record_seconds}",
            "added-data-files": f"{sum(map(bool, counts))}",
            "added-files-size": f"{int(came * rates.record_bytes)}",
        }
