"""The rows of a table from before some windows, as far back as needed: the last one of each key is there.

Of a small table all of them are read. Of a large one it is looked backwards, ever further, until every key
is found: most keys had a row not long ago, and only one that never had any costs a look at everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from frazil.derive.faults import derivation_job
from frazil.derive.merging.box import Box, Side
from frazil.derive.merging.touched import touched
from frazil.derive.work import Task
from frazil.quoting import quoted
from frazil.tables.faults import spark_job
from frazil.tables.spark import spark_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


__all__ = ["SMALL", "Older", "rows_before"]

SMALL = 16 * 2**20
"""Bytes that are read without a question; a question is a Spark job of its own."""

_REACHES = (64, 64**2, 64**3)
"""Windows that are looked back."""


@dataclass(frozen=True)
class Older:
    """Rows that new ones build upon, and that stay as they are.

    Args:
        rows: Them; None where there are none.
        bytes: Of the files that hold them.
    """

    rows: DataFrame | None = None
    bytes: int = 0


def rows_before(task: Task, keys: Box, since: Side, delta: DataFrame, small: int) -> Older:
    """The rows of some keys in windows before some moment, or at least the last one of each key.

    Args:
        task: Its table's head is read.
        keys: The box around the keys of the delta.
        since: The side whose low end is the moment.
        delta: Rows with the keys that are needed.
        small: Bytes that are read without a question.
    """
    assert isinstance(since.low, int)
    assert task.spec.window
    step = 1 if since.kind == "date" else task.spec.window.length // timedelta(microseconds=1)
    everything = _within(task, keys, Side(since.name, since.kind, None, since.low, missing=True), since)
    if everything.bytes <= small:
        return everything
    for reach in _REACHES:
        near = Side(since.name, since.kind, since.low - reach * step, since.low)
        found = _within(task, keys, near, since)
        if found.bytes < everything.bytes and _complete(task, found, delta):
            return found
    return everything


def _within(task: Task, keys: Box, past: Side, since: Side) -> Older:
    box, head = Box((*keys.sides, past)), str(task.table.metadata.current_snapshot_id)
    files = touched(task.table, box.expression)
    if not files.entries:
        return Older()
    rows = task.connections.spark.read.option("versionAsOf", head).table(spark_name(task.name))
    return Older(rows.where(f"{box.sql} AND NOT {since.sql}"), files.bytes)


def _complete(task: Task, found: Older, delta: DataFrame) -> bool:
    """Whether each key of the delta has a row."""
    from pyspark.sql import functions as F

    by = task.spec.cumulative_by
    if found.rows is None:
        return False
    known = found.rows.select(*(F.col(quoted(b)).alias(f"$known_{b}") for b in by))
    same = " AND ".join(f"{quoted(b)} <=> {quoted(f'$known_{b}')}" for b in by)
    with spark_job(derivation_job(task.name)):
        return delta.join(known, F.expr(same), "left_anti").isEmpty()
