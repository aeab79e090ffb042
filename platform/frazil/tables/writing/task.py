"""What tasks in Spark's workers have in common: how they begin, and how they hand rows on.

Imports PyArrow only.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version

import pyarrow as pa

from frazil.exact import values_of
from frazil.process import spare_imported_modules
from frazil.tables.catalogs.requests import REQUESTED, Requests

_LOADED = version("frazil")
"""Of the modules in memory: a worker that serves many sessions may be older than what is installed by now."""


def begin_task(frazil: str) -> None:
    """Leaves PyArrow the one core that Spark has given the task, and the next task of this worker less to do.

    Raises:
        ModuleNotFoundError: The worker's Frazil is another one than the driver's.
    """
    if frazil != _LOADED:
        raise ModuleNotFoundError(f"frazil {frazil}: Spark's workers have {_LOADED}")
    pa.set_cpu_count(1)
    spare_imported_modules()


def rows_of(schema: pa.Schema, **given: pa.Array) -> pa.RecordBatch:
    """Rows of a schema; columns that are not given are null."""
    rows = len(next(iter(given.values())))
    columns = [given[f.name] if f.name in given else pa.nulls(rows, f.type) for f in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


TOOK = "took"
"""What tasks that count their CPU seconds return them as: see `Meter`."""

READS = "reads"
"""What these return as the number of their requests to the store that read."""


@dataclass
class Meter:
    """CPU seconds, and requests that read, of this process for one of several things that a task works on."""

    seconds: float = 0.0
    reads: int = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Counts while the context lasts."""
        begun, read = time.process_time(), REQUESTED.reads
        try:
            yield
        finally:
            self.seconds += time.process_time() - begun
            self.reads += REQUESTED.reads - read

    def on(self, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same rows, each batch of which tells in its first row what was counted since the one before."""
        while True:
            with self.running():
                batch = next(rows, None)
            if batch is None:
                return
            yield _telling(_telling(batch, TOOK, self.seconds), READS, self.reads)
            self.seconds, self.reads = 0.0, 0


def _telling(batch: pa.RecordBatch, name: str, number: float) -> pa.RecordBatch:
    own = batch.schema.field(name)
    column = pa.array([number, *[None] * (len(batch) - 1)][: len(batch)], own.type)
    return batch.set_column(batch.schema.get_field_index(name), own, column)


def took_of(returned: pa.Table) -> float | None:
    """CPU seconds of the tasks that returned these rows; None where they did not count."""
    return sum(values_of(returned[TOOK].drop_null())) if TOOK in returned.column_names else None


def count_reads(location: str, returned: pa.Table) -> None:
    """Counts for a table what the tasks that returned these rows say that they read of it."""
    if READS in returned.column_names:
        REQUESTED.of_table(location, Requests(reads=sum(values_of(returned[READS].drop_null()))))


def packed(rows: pa.RecordBatch) -> bytes:
    """Rows with their types in one value, as nothing that could be run when it is read."""
    with pa.BufferOutputStream() as out, pa.ipc.new_stream(out, rows.schema) as stream:
        stream.write_batch(rows)
    return bytes(out.getvalue().to_pybytes())


def unpacked(stream: bytes | pa.Buffer) -> pa.Table:
    """The rows of one `packed` value."""
    with pa.ipc.open_stream(stream) as read:
        return read.read_all()
