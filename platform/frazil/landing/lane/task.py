"""A task of the lane, in a worker of Spark, for one landing or for many: each has its own work.

Where every record is a row it decodes what it reads, writes data files, and counts.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from frazil.landing.lane.intake import BAD, Intake, Task
from frazil.tables.writing.parquet import FILES, HELD, DataFileWriter
from frazil.tables.writing.task import READS, TOOK, Meter, begin_task, rows_of

RETURNED = pa.schema(
    [
        ("landing", pa.int32()), ("report", pa.string()), ("files", FILES),
        ("bad", pa.list_(BAD)), ("merge", pa.string()), (TOOK, pa.float64()),
        (READS, pa.int64()),
    ]
)  # fmt: skip
"""What a task returns of each landing of which it saw records: a row with the report, where `bad` is null if
the bad records are too large; and one for each partition of the table into which changes were merged. In its
first one `took` has the task's CPU seconds for it, and `reads` its requests that read."""


class Slice(Protocol):
    """What one task does for one landing."""

    @property
    def buffered(self) -> int:
        """Bytes of rows that wait to be written."""

    def flush(self) -> None:
        """Lets go of those that need not wait."""

    def add(self, batch: pa.RecordBatch) -> None:
        """Takes records in."""

    def close(self, number: int) -> Iterator[pa.RecordBatch]:
        """Finishes the files; rows of `RETURNED` of the landing that has this number."""


class Work(Protocol):
    """What one landing asks of a task."""

    def begin(self) -> Slice:
        """Begins it in a task."""


@dataclass(frozen=True, slots=True)
class Tasks:
    """All landings of one job, by their numbers. One with few records shares a task with others."""

    landings: tuple[Work, ...]
    version: str  # of Frazil

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Writes what a Spark task reads; rows of `RETURNED`."""
        begin_task(self.version)
        begun: dict[int, Slice] = {}
        meters: dict[int, Meter] = defaultdict(Meter)
        for batch in batches:
            for number, records in _by_landing(batch):
                with meters[number].running():
                    if number not in begun:
                        begun[number] = self.landings[number].begin()
                    begun[number].add(records)
            if sum(each.buffered for each in begun.values()) > HELD:
                for each in begun.values():
                    each.flush()
        for number, each in begun.items():
            yield from meters[number].on(each.close(number))


def _by_landing(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Runs of records of one landing each: partitions are read one after the other."""
    numbers = batch["landing"].to_numpy()
    starts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist()]
    for start, end in zip(starts, [*starts[1:], len(batch)], strict=True):
        if end > start:
            yield int(numbers[start]), batch.slice(start, end - start)


@dataclass(frozen=True, slots=True)
class Appends:
    """A landing of which every record is a row."""

    task: Task

    def begin(self) -> Slice:
        """See `Work`."""
        return _Appended(self.task)


class _Appended:
    """See `Slice`."""

    def __init__(self, task: Task) -> None:
        self._intake = Intake(task)
        self._writer = DataFileWriter(task.layout, f"00000-{uuid.uuid4()}")

    @property
    def buffered(self) -> int:
        return self._writer.buffered

    def flush(self) -> None:
        self._writer.flush()

    def add(self, batch: pa.RecordBatch) -> None:
        for _, rows in self._intake.take_all(batch):
            self._writer.write(rows)

    def close(self, number: int) -> Iterator[pa.RecordBatch]:
        landing = pa.array([number], pa.int32())
        files = pa.array([[f.row for f in self._writer.close()]], FILES)
        report, bad = self._intake.report(), self._intake.given_back()
        yield rows_of(RETURNED, landing=landing, report=report, files=files, bad=bad)
