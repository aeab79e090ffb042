"""When records came: what tasks count of their timestamps, and what all of them say together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

MOST = 512
"""Steps of time that are counted apart. So a timestamp is known to 1/256 of the time that records span."""


@dataclass(slots=True)
class Times:
    """How many records came in each step of time; steps widen where records span too many.

    Args:
        shift: A step is 2 ** shift milliseconds.
        counts: By step; those without a record are not there.
    """

    shift: int = 0
    counts: dict[int, int] = field(default_factory=dict)

    def add(self, column: pa.Array) -> None:
        """Counts timestamps, in microseconds."""
        millis = column.drop_null().cast("int64").to_numpy() // 1000
        steps, numbers = np.unique(millis >> self.shift, return_counts=True)
        self._count(zip(steps.tolist(), numbers.tolist(), strict=True))

    def report(self) -> dict[str, Any]:
        """As a task says it."""
        return {"shift": self.shift, "steps": [*self.counts], "numbers": [*self.counts.values()]}

    def not_exceeded(self, shares: Sequence[float], newest: int | None) -> tuple[int, ...]:
        """For each share the timestamp that so many records do not exceed; nothing of no record."""
        if newest is None:
            return ()
        steps = np.array(sorted(self.counts))
        sums = np.cumsum([self.counts[step] for step in steps.tolist()])
        places = np.searchsorted(sums, np.array(shares) * sums[-1])
        middles = (steps[places] << self.shift) + (1 << self.shift >> 1)
        return tuple(np.minimum(middles, newest).tolist())

    def _count(self, numbers: Iterable[tuple[int, int]]) -> None:
        for step, number in numbers:
            self.counts[step] = self.counts.get(step, 0) + number
        while len(self.counts) > MOST:
            self._widen(self.shift + 1)

    def _widen(self, shift: int) -> None:
        wider: dict[int, int] = defaultdict(int)
        for step, number in self.counts.items():
            wider[step >> (shift - self.shift)] += number
        self.shift, self.counts = shift, dict(wider)


def times_of(reports: Iterable[Mapping[str, Any]]) -> Times:
    """What all tasks say together, see `Times.report`."""
    reported = [Times(r["shift"], dict(zip(r["steps"], r["numbers"], strict=True))) for r in reports]
    whole = Times(max((times.shift for times in reported), default=0))
    for times in reported:
        times._widen(whole.shift)
        whole._count(times.counts.items())
    return whole
