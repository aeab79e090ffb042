"""How new rows become part of those that a table holds: only files that can hold one of their keys are read.

What is in these files, but outside the box around the new rows, goes to files of its own: so the part of a
table that grows, such as its newest minutes, is soon by itself, and the rest is not read again.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from frazil.derive.merging.row_ids import id_of_key, with_old_ids
from frazil.derive.output import alike_sql, cast, stored_types, types_of
from frazil.derive.queries.totals import Merge, merge_of
from frazil.derive.write import Changed, Kind, Result, Task, derivation_job, rows_within, write_counted
from frazil.quoting import quoted
from frazil.tables.box import Box, box_from, measures
from frazil.tables.commits.stage import StagedFiles
from frazil.tables.format_v3.fields import has_row_ids
from frazil.tables.spark.session import Watched, aggregated, filled, grouped, samples

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Older:
    """Rows that new ones build on and that stay as they are; None if there are no such rows."""

    rows: DataFrame | None = None
    bytes: int = 0


@dataclass(frozen=True)
class State:
    """The rows of a table that may have keys of a delta, and further ones that the new rows build on.

    `rows` is None where no file can hold any.
    """

    rows: DataFrame | None
    older: Older


class Merging(Kind):
    """A kind whose new rows are merged with those that are there."""

    @abstractmethod
    def keys(self, task: Task) -> tuple[str, ...]:
        """The columns that say which rows become one."""

    @abstractmethod
    def merged(self, task: Task, state: State, delta: DataFrame) -> DataFrame:
        """The rows that stand for those of the state and those of the delta together."""

    def counted(self, task: Task) -> str:
        """Which rows of the delta count: SQL that is never null."""
        return "true"

    def reach(self, task: Task, box: Box) -> Box:
        """The box around all rows that new ones change; by default those of the same keys."""
        return box

    def older(self, task: Task, box: Box) -> Older:
        """Rows outside the box that the new ones build on; by default none."""
        return Older()

    def facts(self, task: Task) -> dict[str, str]:
        """Aggregates over the delta that `result` wants to know, by alias."""
        return {}

    def result(self, task: Task, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Further fields of `Result`."""
        return {}

    def write(self, task: Task) -> Result:
        """Writes what is new, merged with what is there; or all anew."""
        return self._anew(task) if task.before is None else self._merge(task)

    def _anew(self, task: Task) -> Result:
        watched = Watched(task.delta, self.facts(task), derivation_job(task.name), twice=samples(task.table))
        counted = watched.rows.where(self.counted(task))
        rows = self.shape(task.spec, counted)
        files = write_counted(task, self._with_ids(task, rows) if has_row_ids(task.table) else rows)
        return Result(files, **self.result(task, watched.measured))

    def _with_ids(self, task: Task, rows: DataFrame) -> DataFrame:
        """All rows of a table anew: those of a key that is there keep its id."""
        there, old = rows_within(task, Box())
        rows = cast(rows, stored_types(task.table))
        return with_old_ids(rows, old, self.keys(task)) if there.entries else rows

    def _merge(self, task: Task) -> Result:
        box, facts = self._looked_at(task)
        more = self.result(task, facts)
        if not facts["rows"]:
            return Result(StagedFiles(), **more)
        there, rows = rows_within(task, box)
        task = self._counting(task)
        state = State(rows if there.entries else None, self.older(task, box))
        files = write_counted(task, self._rows(task, state, box))
        return Result(files, there.rows, state_bytes=there.bytes + state.older.bytes, **more)

    def _looked_at(self, task: Task) -> tuple[Box, dict[str, Any]]:
        """The box around the delta, and what else must be known before it is merged.

        A second run of the query over a few new rows is quicker than a cache: 0.6 s in all, and 1.6 s.
        """
        types, keys, counted = types_of(task.table), self.keys(task), self.counted(task)
        measured = {"rows": f"count_if({counted})"} | measures(types, keys, counted) | self.facts(task)
        facts = aggregated(self.touched(task), measured, derivation_job(task.name))
        return self.reach(task, box_from(types, keys, facts)), facts

    def _counting(self, task: Task) -> Task:
        """The same with those rows only that count."""
        counts, changed = self.counted(task), task.changed
        if changed:
            changed = Changed(changed.went.where(counts), changed.current.where(counts))
        return replace(task, delta=task.delta.where(counts), changed=changed)

    def _rows(self, task: Task, state: State, box: Box) -> DataFrame:
        """What the state holds, with the new rows in it."""
        types = stored_types(task.table)
        if state.rows is None:
            return cast(self._merged(task, state, box), types)
        inside, others = state.rows.where(box.sql), state.rows.where(f"NOT ({box.sql})")
        merged = self._merged(task, replace(state, rows=inside), box)
        return cast(merged, types).unionByName(cast(others, types))

    def _merged(self, task: Task, state: State, box: Box) -> DataFrame:
        if task.changed is None:
            return self.merged(task, state, task.delta)
        return self.mended(task, state, box, task.changed)

    def touched(self, task: Task) -> DataFrame:
        """Rows with the keys that a derivation has to look at."""
        return task.delta.unionByName(task.changed.went) if task.changed else task.delta

    def anew_by(self, task: Task) -> tuple[str, ...]:
        """The columns by which rows within the box are made anew where rows of the inputs changed or went."""
        return self.keys(task)

    def mended(self, task: Task, state: State, box: Box, changed: Changed) -> DataFrame:
        """The rows of a state where rows of the inputs changed or went; by default those keys anew."""
        types, stored = types_of(task.table), stored_types(task.table)
        rows = cast(self.shape(task.spec, changed.current), stored).where(box.sql)
        there = None if state.rows is None else cast(state.rows, stored)
        rows = rows if there is None else with_old_ids(rows, there, self.keys(task))
        return _made_anew(there, rows, cast(self.touched(task), types), self.anew_by(task))


def _made_anew(
    state: DataFrame | None, rows: DataFrame, touched: DataFrame, keys: Sequence[str]
) -> DataFrame:
    """Rows of a state, but those with touched keys as they are held now. All have the table's types."""
    from pyspark.sql import functions as F

    if not keys:
        return rows
    named = {f"$frazil_{n}": name for n, name in enumerate(keys)}
    wanted = touched.selectExpr(*(f"{quoted(k)} AS {quoted(n)}" for n, k in named.items())).distinct()
    fits = F.expr(alike_sql({n: quoted(k) for n, k in named.items()}))
    anew = rows.join(wanted, fits, "left_semi")
    return anew if state is None else state.join(wanted, fits, "left_anti").unionByName(anew)


class Totals(Merging):
    """One row per key, all other columns added up."""

    def keys(self, task: Task) -> tuple[str, ...]:
        """What the query groups by."""
        return merge_in(task).keys

    def merged(self, task: Task, state: State, delta: DataFrame) -> DataFrame:
        """The totals of state and delta together."""
        rows = state.rows.unionByName(delta, allowMissingColumns=True) if state.rows is not None else delta
        return summed(rows, merge_in(task))

    def touched(self, task: Task) -> DataFrame:
        """The totals that rows which came or went have made; those alike on both sides change nothing.

        Where some changed or went, a column `SIDE` says which: 1 for what came, -1 for what went.
        """
        from pyspark.sql import functions as F

        if task.changed is None:
            return task.delta
        came, went = task.delta.withColumn(SIDE, F.lit(1)), task.changed.went.withColumn(SIDE, F.lit(-1))
        alike = came.unionByName(went).groupBy(*map(quoted, task.delta.columns))
        return alike.agg(F.sum(quoted(SIDE)).alias(SIDE)).where(f"{quoted(SIDE)} <> 0")

    def subtracts(self, task: Task) -> bool:
        """Whether what went can be subtracted: counts tell what is left, and sums are exact."""
        merge, types = merge_in(task), types_of(task.table)
        exact = all(types[name].startswith(_EXACT) for name in merge.functions)
        return bool(merge.keys) and merge.subtracts and exact

    def mended(self, task: Task, state: State, box: Box, changed: Changed) -> DataFrame:
        """Subtracts what went where that can be; else those keys anew."""
        merge = merge_in(task)
        if merge.rows is None or not self.subtracts(task):
            return super().mended(task, state, box, changed)
        less = filled(changed.went, {name: f"-{quoted(name)}" for name in merge.functions})
        left = self.merged(task, state, task.delta.unionByName(less)).where(f"{quoted(merge.rows)} <> 0")
        empty = {
            name: f"IF({quoted(count or '')} = 0, NULL, {quoted(name)})"
            for name, count in merge.values.items()
        }
        return filled(left, empty)


SIDE = "$frazil_side"
"""A column of totals that are touched."""

_EXACT = ("bigint", "decimal")
"""Types whose sums are the same in whatever order values are added and taken away."""


def merge_in(task: Task) -> Merge:
    """How the rows of a query's table are merged; a function has no such kind."""
    assert task.query is not None
    return merge_of(task.query)


def summed(rows: DataFrame, merge: Merge) -> DataFrame:
    """One row per key, the other columns added up. A missing key is a key like any other."""
    totals = {n: f"{how}({quoted(n)})" for n, how in merge.functions.items()}
    return grouped(rows, merge.keys, totals | id_of_key(rows))
