"""A task of the lane, in a worker of Spark: it decodes what it reads, writes data files, and counts."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa

from frazil.landing.lane.intake import BAD, Intake, Task
from frazil.tables.writing.parquet import FILES, HELD, DataFileWriter
from frazil.tables.writing.task import begin_task, rows_of

RETURNED = pa.schema(
    [
        ("landing", pa.int32()), ("report", pa.string()), ("files", FILES),
        ("bad", pa.list_(BAD)),
    ]
)  # fmt: skip
"""What a task returns, a row for each landing of which it saw records; `bad` is null where the bad records
are too large."""


@dataclass(frozen=True, slots=True)
class Tasks:
    """All landings of one job, by their numbers. One with few records shares a task with others."""

    landings: tuple[Task, ...]
    version: str  # of Frazil

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Writes what a Spark task reads; rows of `RETURNED`."""
        begin_task(self.version)
        begun: dict[int, _Slice] = {}
        for batch in batches:
            for number, records in _by_landing(batch):
                if number not in begun:
                    begun[number] = _Slice(self.landings[number])
                begun[number].add(records)
            if sum(each.held for each in begun.values()) > HELD:
                for each in begun.values():
                    each.flush()
        yield from (each.close(number) for number, each in begun.items())


def _by_landing(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Runs of records of one landing each: partitions are read one after the other."""
    numbers = batch["landing"].to_numpy()
    starts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist()]
    for start, end in zip(starts, [*starts[1:], len(batch)], strict=True):
        if end > start:
            yield int(numbers[start]), batch.slice(start, end - start)


class _Slice:
    """What one task does for one landing."""

    def __init__(self, task: Task) -> None:
        self._intake = Intake(task)
        self._writer = DataFileWriter(task.layout, f"00000-{uuid.uuid4()}")

    @property
    def held(self) -> int:
        """Bytes of rows that wait to be written."""
        return self._writer.held

    def flush(self) -> None:
        """Writes them."""
        self._writer.flush()

    def add(self, batch: pa.RecordBatch) -> None:
        """Takes records in."""
        for _, rows in self._intake.take_all(batch):
            self._writer.write(rows)

    def close(self, number: int) -> pa.RecordBatch:
        """Finishes the files; the row of `RETURNED` of the landing that has this number."""
        landing = pa.array([number], pa.int32())
        files = pa.array([[asdict(f) for f in self._writer.close()]], FILES)
        report, bad = self._intake.report(), self._intake.given_back()
        return rows_of(RETURNED, landing=landing, report=report, files=files, bad=bad)
