"""First step of an upsert's tasks: they decode what they read, and deal changes out by partitions.

What crosses to the tasks of the second step is Arrow as it is, many rows in one value: Spark moves it, and
never looks into it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc

from frazil.exact import values_of
from frazil.landing.lane.intake import BAD, LSN, TIME, Intake, Task, deletes, truncates
from frazil.landing.upsert.lane.newest import Identity
from frazil.landing.upsert.lane.soft import Soft
from frazil.landing.upsert.words import DELETED, TOMBSTONE
from frazil.tables.writing.task import begin_task, packed, rows_of

HELD = 64 * 2**20
"""Bytes of changes that wait to be dealt out: of each key only the last ones go on."""

DEALT = pa.schema(
    [
        ("task", pa.int32()), ("place", pa.string()), ("rows", pa.binary()), ("report", pa.string()),
        ("bad", pa.list_(BAD)), ("truncate", pa.string()),
    ]
)  # fmt: skip
"""Changes of one partition of the table, for a task of the second step; or a truncate, which each of these
gets; or what a task of the first counted."""


def tasks_by_place(places: Iterable[str], tasks: int) -> dict[str, int]:
    """The task of the second step that each partition with files is for."""
    return {place: number % tasks for number, place in enumerate(sorted(places))}


def place_of(values: Iterable[object]) -> str:
    """A partition of a table by its values, which are whole numbers or texts."""
    return repr(tuple(values))


@dataclass(frozen=True, slots=True)
class Deal:
    """What tasks of the first step are told."""

    task: Task
    order: Identity | Soft
    tasks: int  # of the second step
    known: Mapping[str, int]  # the task of each partition that has files
    version: str  # of Frazil
    whole: bool = False  # whether one task gets all changes, for no key tells the partition of its row

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Reads what a Spark task reads; rows of `DEALT`."""
        begin_task(self.version)
        dealing = Dealing(self)
        yield from chain.from_iterable(map(dealing.add, batches))
        yield from dealing.close()

    def changes_of(self, good: pa.RecordBatch, rows: pa.RecordBatch) -> pa.Table:
        """The rows of records that change one."""
        rows = rows.append_column(DELETED, deletes(good))
        if isinstance(self.order, Soft):
            rows = rows.append_column(TOMBSTONE, good["raw_value"].is_null())
        empties = truncates(good)
        return pa.Table.from_batches([rows if empties is None else rows.filter(pc.invert(empties))])

    def truncates_of(self, good: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Each truncate, for all tasks."""
        empties = truncates(good)
        if empties is None or not empties.true_count:
            return
        truncating = good.filter(empties)
        columns = (truncating[name] for name in ("partition", "offset", "timestamp", TIME, LSN))
        texts = [json.dumps(fields) for fields in zip(*map(values_of, columns), strict=True)]
        for task in range(self.tasks):
            numbers = pa.array([task] * len(texts), pa.int32())
            yield rows_of(DEALT, task=numbers, truncate=pa.array(texts))

    def dealt(self, changes: pa.Table) -> Iterator[pa.RecordBatch]:
        """Changes by partitions of the table."""
        partitions = None if self.whole else self.task.layout.partitions
        for batch in changes.to_batches():
            for key, rows in partitions.split(batch) if partitions else [((), batch)]:
                place = place_of(key)
                value = pa.array([packed(rows)], pa.binary())
                yield rows_of(DEALT, task=_task(self._task_of(place)), place=pa.array([place]), rows=value)

    def _task_of(self, place: str) -> int:
        return self.known.get(place, crc32(place.encode()) % self.tasks)


class Dealing:
    """What one task does: it keeps changes until it has all, or too many."""

    def __init__(self, deal: Deal) -> None:
        self._deal, self._intake = deal, Intake(deal.task)
        self._buffer: list[pa.Table] = []
        self._sent = 0

    @property
    def buffered(self) -> int:
        """Bytes of changes that wait to be dealt out."""
        return sum(rows.nbytes for rows in self._buffer)

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Takes records in; rows of `DEALT`."""
        for good, rows in self._intake.take_all(batch):
            yield from self._deal.truncates_of(good)
            self._buffer.append(self._deal.changes_of(good, rows))
            if self.buffered > HELD:
                self._thin()
                if self.buffered > HELD / 2:
                    yield from self._dealt()

    def _thin(self) -> None:
        """Drops changes that later ones of their keys outlive."""
        if self._buffer:
            self._buffer = [self._deal.order.needed(pa.concat_tables(self._buffer).combine_chunks())]

    def close(self) -> Iterator[pa.RecordBatch]:
        """Deals out what is left, and says what was counted."""
        self._thin()
        yield from self._dealt()
        report, bad = self._intake.report(sent=self._sent), self._intake.given_back()
        yield rows_of(DEALT, task=_task(0), report=report, bad=bad)

    def _dealt(self) -> Iterator[pa.RecordBatch]:
        batches, self._buffer = self._buffer, []
        self._sent += sum(map(len, batches))
        yield from chain.from_iterable(map(self._deal.dealt, batches))


def _task(number: int) -> pa.Array:
    return pa.array([number], pa.int32())
