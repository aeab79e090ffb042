"""Running totals over windows: each one holds what all windows of its key up to it add up to.

A stored running total is never taken apart again: it grows by what is new in its window and those before
it. So whole numbers and decimals stay exact, however often it grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.quoting import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, WindowSpec

__all__ = ["RunningTotals"]

_HELD, _NEW, _BASE = "$frazil_held_", "$frazil_new_", "$frazil_base_"


@dataclass(frozen=True, slots=True)
class RunningTotals:
    """The columns of a table of running totals.

    Args:
        by: Whose totals they are.
        start: When the window begins.
        names: The totals.
    """

    by: tuple[str, ...]
    start: str
    names: tuple[str, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """What makes a row one."""
        return (*self.by, self.start)

    @classmethod
    def of(cls, by: Sequence[str], start: str, columns: Sequence[str]) -> RunningTotals:
        """Every column that is no key is a running total."""
        return cls(tuple(by), start, tuple(c for c in columns if c not in {*by, start}))

    def grown(self, state: DataFrame | None, delta: DataFrame, before: DataFrame | None) -> DataFrame:
        """The running totals of the state's windows and the delta's.

        Args:
            state: Running totals; of the delta's keys all windows from the delta's first one on.
            delta: What is new in each window by itself.
            before: Running totals of older windows, as far as there are any.
        """
        from pyspark.sql import Window

        rows = self._side_by_side(state, delta)
        if before is not None:
            rows = self._joined(rows, self._last(before))
        so_far = Window.partitionBy(*map(quoted, self.by)).orderBy(quoted(self.start))
        window = so_far.rowsBetween(Window.unboundedPreceding, Window.currentRow)
        totals = (_grown(name, window, older=before is not None).alias(name) for name in self.names)
        return rows.select(*map(quoted, self.keys), *totals)

    def _side_by_side(self, state: DataFrame | None, delta: DataFrame) -> DataFrame:
        """One row per window, with the running total that is held, and with what is new."""
        from pyspark.sql import functions as F

        held = self._called(_HELD, delta.where("false") if state is None else state)
        both = self._called(_NEW, delta).unionByName(held, allowMissingColumns=True)
        sums = (F.sum(quoted(side + n)).alias(side + n) for n in self.names for side in (_HELD, _NEW))
        return both.groupBy(*map(quoted, self.keys)).agg(*sums)

    def _called(self, side: str, rows: DataFrame) -> DataFrame:
        totals = (f"{quoted(n)} AS {quoted(side + n)}" for n in self.names)
        return rows.selectExpr(*map(quoted, self.keys), *totals)

    def _last(self, before: DataFrame) -> DataFrame:
        """The running totals of the last window of each key."""
        from pyspark.sql import functions as F

        totals = F.struct(*(F.col(quoted(n)).alias(_BASE + n) for n in self.names))
        last = F.max_by(totals, F.struct(quoted(self.start)))  # by itself, it would pass over a missing one
        keys = [F.col(quoted(b)).alias(_BASE + b) for b in self.by]
        found = before.groupBy(*keys).agg(last.alias("last"))
        return found.select(*(quoted(_BASE + b) for b in self.by), "last.*")

    def _joined(self, rows: DataFrame, last: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        same = " AND ".join(f"{quoted(b)} <=> {quoted(_BASE + b)}" for b in self.by)
        return rows.join(last, F.expr(same), "left")


def _grown(name: str, window: WindowSpec, *, older: bool) -> Column:
    """What was held last, and all that is new since the delta's first window."""
    from pyspark.sql import functions as F

    held = F.last(quoted(_HELD + name), ignorenulls=True).over(window)
    held = F.coalesce(held, F.col(quoted(_BASE + name))) if older else held
    new = F.sum(quoted(_NEW + name)).over(window)
    return F.coalesce(held + new, held, new)
