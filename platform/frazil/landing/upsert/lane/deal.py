"""First step of an upsert's tasks: they decode what they read, and deal changes out by partitions.

What crosses to the tasks of the second step is Arrow as it is, many rows in one value: Spark moves it, and
never looks into it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from zlib import crc32

import pyarrow as pa

from frazil.landing.lane.intake import BAD, Intake, Task
from frazil.landing.upsert.lane.newest import Identity
from frazil.tables.task import begin_task, packed, rows_of

DELETED = "$frazil_deleted"
"""Column of changes, beside those of the table: whether a change ends its row."""

HELD = 64 * 2**20
"""Bytes of changes that wait to be dealt out: of each key only the last ones go on."""

DEALT = pa.schema(
    [
        ("task", pa.int32()), ("place", pa.string()), ("rows", pa.binary()), ("report", pa.string()),
        ("bad", pa.list_(BAD)),
    ]
)  # fmt: skip
"""Changes of one partition of the table, for a task of the second step; or what one of the first counted."""


def place_of(values: Iterable[object]) -> str:
    """A partition of a table by its values, which are whole numbers or texts."""
    return repr(tuple(values))


@dataclass(frozen=True, slots=True)
class Deal:
    """What tasks of the first step are told."""

    task: Task
    identity: Identity
    tasks: int  # of the second step
    known: Mapping[str, int]  # the task of each partition that has files
    version: str  # of Frazil

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Reads what a Spark task reads; rows of `DEALT`."""
        begin_task(self.version)
        intake, held, sent = Intake(self.task), [], 0
        for good, rows in chain.from_iterable(map(intake.take_all, batches)):
            held.append(pa.Table.from_batches([rows.append_column(DELETED, good["raw_value"].is_null())]))
            if sum(rows.nbytes for rows in held) > HELD:
                last = self._last(held)
                held = [last]
                if last.nbytes > HELD / 2:
                    sent, held = sent + len(last), []
                    yield from self._dealt(last)
        if held:
            last = self._last(held)
            sent += len(last)
            yield from self._dealt(last)
        yield rows_of(DEALT, task=_task(0), report=intake.report(sent=sent), bad=intake.given_back())

    def _last(self, held: Sequence[pa.Table]) -> pa.Table:
        return self.identity.last_of_partitions(pa.concat_tables(held).combine_chunks())

    def _dealt(self, changes: pa.Table) -> Iterator[pa.RecordBatch]:
        partitions = self.task.layout.partitions
        assert partitions, "the table is divided"
        for batch in changes.to_batches():
            for key, rows in partitions.split(batch):
                place = place_of(key)
                value = pa.array([packed(rows)], pa.binary())
                yield rows_of(DEALT, task=_task(self._task_of(place)), place=pa.array([place]), rows=value)

    def _task_of(self, place: str) -> int:
        return self.known.get(place, crc32(place.encode()) % self.tasks)


def _task(number: int) -> pa.Array:
    return pa.array([number], pa.int32())
