"""How many records some offsets hold, and which: a loss and a duplicate do not cancel out."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Tally"]


@dataclass(frozen=True, slots=True)
class Tally:
    """Records of one partition, or of several.

    Args:
        count: How many.
        low: The least offset; None of no record.
        high: The greatest offset; None of no record.
        total: The sum of all offsets.
    """

    count: int = 0
    low: int | None = None
    high: int | None = None
    total: int = 0

    @classmethod
    def of_span(cls, start: int, to: int) -> Tally:
        """A span whose every offset holds a record."""
        count = to - start
        return cls(count, start, to - 1, (start + to - 1) * count // 2) if count else cls()

    def __add__(self, other: Tally) -> Tally:
        lows = [at for at in (self.low, other.low) if at is not None]
        highs = [at for at in (self.high, other.high) if at is not None]
        return Tally(
            self.count + other.count,
            min(lows, default=None),
            max(highs, default=None),
            self.total + other.total,
        )

    def __str__(self) -> str:
        if not self.count:
            return "no record"
        return f"{self.count} records from offset {self.low} to {self.high}, sum of offsets {self.total}"
