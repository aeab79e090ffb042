"""Totals by windows of event time: which of them are closed, and what becomes of what comes too late."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from frazil.derive.merging.merge import SIDE, Older, State, Totals
from frazil.derive.merging.row_ids import with_old_ids
from frazil.derive.output import cast, stored_types, types_in
from frazil.derive.write import Task, derivation_job
from frazil.errors import SpecError
from frazil.quoting import quoted
from frazil.spec.derived import DerivedSpec, Window
from frazil.tables.box import Box, Side
from frazil.tables.metadata.manifests import files_matching
from frazil.tables.spark.faults import spark_job
from frazil.tables.spark.session import at_snapshot, grouped

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, WindowSpec

SMALL = 16 * 2**20
"""Bytes of older windows that are read without a question; a question is a Spark job of its own."""

_REACHES = (64, 64**2, 64**3)  # windows that are looked back

_TOO_EARLY = "begins too far ahead of the clock"
_TOO_LATE = "came when its window was closed"
_GONE_LATE = "went when its window was closed"

_MICROSECOND = timedelta(microseconds=1)
_TIMES = ("timestamp", "timestamp_ntz", "date")


class Windows(Totals):
    """Totals by windows; running totals where the spec says whose."""

    def shape(self, spec: DerivedSpec, delta: DataFrame) -> DataFrame:
        """The rows as the query has them, or the same as running totals.

        Raises:
            SpecError: The column of the windows' begin holds no times.
        """
        start = _window(spec).start
        if (kind := types_in(delta)[start]) not in _TIMES:
            raise SpecError(
                f"window.start: {start} of {spec.table} is {kind}, and no time.",
                meaning="Nothing was derived.",
                todo="Let the query make it a timestamp or a date: date_trunc('MINUTE', ...) does.",
            )
        if not spec.cumulative_by:
            return delta
        return cast(_running(spec, delta).grown(None, delta, None), types_in(delta))

    def merged(self, task: Task, state: State, delta: DataFrame) -> DataFrame:
        """The totals of both; or the running totals of both, continued from those of older windows."""
        if not task.spec.cumulative_by:
            return super().merged(task, state, delta)
        grown = _running(task.spec, delta).grown(state.rows, delta, state.older.rows)
        if state.rows is None:
            return grown
        types = stored_types(task.table)
        return with_old_ids(cast(grown, types), cast(state.rows, types), self.keys(task))

    def older(self, task: Task, box: Box) -> Older:
        """Running totals go on from those of older windows, unless they are made anew."""
        start = _window(task.spec).start
        since = next((side for side in box.sides if side.name == start), None)
        if not task.spec.cumulative_by or since is None or task.changed:
            return Older()
        keys = Box(tuple(side for side in box.sides if side is not since))
        return _rows_before(task, keys, since, task.delta)

    def anew_by(self, task: Task) -> tuple[str, ...]:
        """Running totals are made anew from the first window on that changed."""
        return task.spec.cumulative_by or super().anew_by(task)

    def subtracts(self, task: Task) -> bool:
        """Nothing is taken from running totals, nor where the table may lack what it had made.

        What was ahead of the clock is none of the table's; nor is what came late, if it was left out.
        """
        late = task.before and task.before.left_out and task.spec.adds_late_rows
        lacks = late or (task.before and task.before.total_bad)
        return super().subtracts(task) and not (task.spec.cumulative_by or lacks)

    def reach(self, task: Task, box: Box) -> Box:
        """A running total changes with every window before it."""
        return box.upwards(_window(task.spec).start) if task.spec.cumulative_by else box

    def counted(self, task: Task) -> str:
        """Rows of open windows count, and late ones where the spec says so."""
        late = "false" if task.spec.adds_late_rows else _late(task)
        return f"NOT ({_ahead(task)} OR {late})"

    def letters(self, task: Task) -> DataFrame | None:
        """The totals that are ahead of the clock, or came or went too late, each as JSON."""
        from pyspark.sql import functions as F

        late = _late(task) if _window(task.spec).late_rows == "dead_letter" else "false"
        reason = F.expr(
            f"CASE WHEN {_ahead(task)} THEN IF({_went(task)}, NULL, '{_TOO_EARLY}') "
            f"WHEN {late} THEN IF({_went(task)}, '{_GONE_LATE}', '{_TOO_LATE}') END"
        )
        row = F.to_json(F.struct(*map(quoted, task.delta.columns)), {"ignoreNullFields": "false"})
        return self.touched(task).select(reason.alias("reason"), row.alias("row")).where("reason IS NOT NULL")

    def facts(self, task: Task) -> dict[str, str]:
        """How many are ahead of the clock, how many late, and when the newest window of the others begins.

        What went closes no window, and is not kept apart once more.
        """
        begin, ahead, went = _begin(_window(task.spec)), _ahead(task), _went(task)
        return {
            "ahead": f"count_if({ahead} AND NOT {went})",
            "late": f"count_if({_late(task)} AND NOT {ahead})",
            "newest": f"max(if({ahead} OR {went}, NULL, {begin}))",
        }

    def result(self, task: Task, facts: Mapping[str, Any]) -> dict[str, Any]:
        """How many are ahead of the clock, how many late, and the new watermark."""
        window, before = _window(task.spec), task.before.watermark if task.before else None
        newest = facts["newest"]
        reached = None if newest is None else newest - window.lateness // _MICROSECOND
        marks = [mark for mark in (before, reached) if mark is not None]
        return {"late": facts["late"], "ahead": facts["ahead"], "watermark": max(marks, default=None)}


def _late(task: Task) -> str:
    """SQL that says of a row whether its window was closed already; never null."""
    window, watermark = _window(task.spec), task.before.watermark if task.before else None
    if watermark is None:
        return "false"
    return f"coalesce({_begin(window)} + {window.length // _MICROSECOND} <= {watermark}, false)"


def _went(task: Task) -> str:
    """SQL that says of totals that are touched whether rows which went have made them; never null."""
    return f"({quoted(SIDE)} < 0)" if task.changed else "false"


def _ahead(task: Task) -> str:
    """SQL that says of a row whether its window begins too far ahead of the clock; never null."""
    window = _window(task.spec)
    furthest = int(task.now * 1_000_000) + window.ahead // _MICROSECOND
    return f"coalesce({_begin(window)} > {furthest}, false)"


def _begin(window: Window) -> str:
    return f"unix_micros(CAST({quoted(window.start)} AS timestamp))"


def _window(spec: DerivedSpec) -> Window:
    assert spec.window is not None
    return spec.window


def _running(spec: DerivedSpec, delta: DataFrame) -> _RunningTotals:
    by, start = spec.cumulative_by, _window(spec).start
    return _RunningTotals(by, start, tuple(c for c in delta.columns if c not in {*by, start}))


def _rows_before(task: Task, keys: Box, since: Side, delta: DataFrame) -> Older:
    """The rows of the delta's keys in windows before the low end of `since`, or at least each one's last.

    Of a small table all are read. In a large one it looks back ever further until every key is found: most
    keys had a row not long ago, and only one that never had any costs a look at everything.
    """
    assert isinstance(since.low, int)
    assert task.spec.window
    step = 1 if since.kind == "date" else task.spec.window.length // _MICROSECOND
    everything = _within(task, keys, Side(since.name, since.kind, None, since.low, missing=True), since)
    if everything.bytes <= SMALL:
        return everything
    for reach in _REACHES:
        near = Side(since.name, since.kind, since.low - reach * step, since.low)
        older = _within(task, keys, near, since)
        if older.bytes < everything.bytes and _complete(task, older, delta):
            return older
    return everything


def _within(task: Task, keys: Box, past: Side, since: Side) -> Older:
    box, head = Box((*keys.sides, past)), task.table.metadata.current_snapshot_id or 0
    files = files_matching(task.table, box.expression)
    if not files.entries:
        return Older()
    rows = at_snapshot(task.connections.spark, task.name, head)
    return Older(rows.where(f"{box.sql} AND NOT {since.sql}"), files.bytes)


def _complete(task: Task, older: Older, delta: DataFrame) -> bool:
    """Whether each key of the delta has a row."""
    from pyspark.sql import functions as F

    by = task.spec.cumulative_by
    if older.rows is None:
        return False
    known = older.rows.select(*(F.col(quoted(b)).alias(f"$known_{b}") for b in by))
    same = " AND ".join(f"{quoted(b)} <=> {quoted(f'$known_{b}')}" for b in by)
    with spark_job(derivation_job(task.name)):
        return delta.join(known, F.expr(same), "left_anti").isEmpty()


_HELD, _NEW, _BASE = "$frazil_held_", "$frazil_new_", "$frazil_base_"


@dataclass(frozen=True, slots=True)
class _RunningTotals:
    """The columns of a table of running totals: whose they are, when the window begins, all others.

    A stored running total is never taken apart again: it grows by what is new in its window and those before
    it. So whole numbers and decimals stay exact, however often it grows.
    """

    by: tuple[str, ...]
    start: str
    names: tuple[str, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that tell one row from another."""
        return (*self.by, self.start)

    def grown(self, state: DataFrame | None, delta: DataFrame, before: DataFrame | None) -> DataFrame:
        """The running totals of the state's windows and the delta's.

        The state has all windows of the delta's keys from the delta's first one on, and the delta what is new
        in each window by itself; `before` has older windows.
        """
        from pyspark.sql import Window

        rows = self._side_by_side(state, delta)
        if before is not None and self.names:
            rows = self._joined(rows, self._last(before))
        so_far = Window.partitionBy(*map(quoted, self.by)).orderBy(quoted(self.start))
        window = so_far.rowsBetween(Window.unboundedPreceding, Window.currentRow)
        totals = (_grown(name, window, older=before is not None).alias(name) for name in self.names)
        return rows.select(*map(quoted, self.keys), *totals)

    def _side_by_side(self, state: DataFrame | None, delta: DataFrame) -> DataFrame:
        """One row per window, with the running total that is held, and with what is new."""
        both = self._called(_NEW, delta)
        if state is None:  # not the delta once more, though without rows: it may be watched
            none = (f"if(true, NULL, {quoted(_NEW + n)}) AS {quoted(_HELD + n)}" for n in self.names)
            both = both.selectExpr("*", *none)
        else:
            both = both.unionByName(self._called(_HELD, state), allowMissingColumns=True)
        columns = (side + name for name in self.names for side in (_HELD, _NEW))
        return grouped(both, self.keys, {name: f"sum({quoted(name)})" for name in columns})

    def _called(self, side: str, rows: DataFrame) -> DataFrame:
        totals = (f"{quoted(n)} AS {quoted(side + n)}" for n in self.names)
        return rows.selectExpr(*map(quoted, self.keys), *totals)

    def _last(self, before: DataFrame) -> DataFrame:
        """The running totals of the last window of each key."""
        from pyspark.sql import functions as F

        totals = F.struct(*(F.col(quoted(n)).alias(_BASE + n) for n in self.names))
        last = F.max_by(totals, F.struct(quoted(self.start)))  # by itself, it would pass over a missing one
        keys = [F.col(quoted(b)).alias(_BASE + b) for b in self.by]
        last_rows = before.groupBy(*keys).agg(last.alias("last"))
        return last_rows.select(*(quoted(_BASE + b) for b in self.by), "last.*")

    def _joined(self, rows: DataFrame, last: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        same = " AND ".join(f"{quoted(b)} <=> {quoted(_BASE + b)}" for b in self.by)
        return rows.join(last, F.expr(same), "left")


def _grown(name: str, window: WindowSpec, *, older: bool) -> Column:
    """What was held last, and all that is new since the delta's first window."""
    from pyspark.sql import functions as F

    so_far = F.last(quoted(_HELD + name), ignorenulls=True).over(window)
    so_far = F.coalesce(so_far, F.col(quoted(_BASE + name))) if older else so_far
    new = F.sum(quoted(_NEW + name)).over(window)
    return F.coalesce(so_far + new, so_far, new)
