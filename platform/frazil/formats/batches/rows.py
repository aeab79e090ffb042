"""Which records the elements of an array belong to, and which of these are bad."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Rows:
    """The records of an array's elements: one each, or those of the lists that hold them."""

    bad: np.ndarray  # by record
    above: Rows | None = None
    offsets: np.ndarray | None = None  # of the lists above

    def spoil(self, elements: np.ndarray) -> None:
        """Marks records as bad, by those of their elements that are."""
        if elements.any():
            self.bad[self._records(np.flatnonzero(elements))] = True

    def within(self, offsets: np.ndarray) -> Rows:
        """The same of the elements of lists."""
        return Rows(self.bad, self, offsets)

    def _records(self, elements: np.ndarray) -> np.ndarray:
        if self.above is None or self.offsets is None:
            return elements
        return self.above._records(np.searchsorted(self.offsets, elements, side="right") - 1)
