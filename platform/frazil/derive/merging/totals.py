"""Totals by key, added to those that a table holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.derive.merging.merge import Merging, State
from frazil.derive.queries.totals import Merge, merge_of
from frazil.derive.task import Task
from frazil.quoting import quoted
from frazil.spec.derived import DerivedSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


__all__ = ["Totals", "merge_in", "summed"]


class Totals(Merging):
    """One row per key, all other columns added up."""

    def shape(self, spec: DerivedSpec, delta: DataFrame) -> DataFrame:
        """As the query has it."""
        return delta

    def keys(self, task: Task) -> tuple[str, ...]:
        """What the query groups by."""
        return merge_in(task).keys

    def merged(self, task: Task, state: State, delta: DataFrame) -> DataFrame:
        """The totals of both."""
        rows = state.rows.unionByName(delta, allowMissingColumns=True) if state.rows is not None else delta
        return summed(rows, merge_in(task))


def merge_in(task: Task) -> Merge:
    """How the rows of a query's table are merged; a function has no such kind."""
    assert task.query is not None
    return merge_of(task.query)


def summed(rows: DataFrame, merge: Merge) -> DataFrame:
    """One row per key, the other columns added up. A missing key is a key like any other."""
    from pyspark.sql import functions as F

    added = (F.expr(f"{how}({quoted(name)})").alias(name) for name, how in merge.functions.items())
    return rows.groupBy(*map(quoted, merge.keys)).agg(*added)
