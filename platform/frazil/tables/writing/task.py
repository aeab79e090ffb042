"""What tasks in Spark's workers have in common: how they begin, and how they hand rows on.

Imports PyArrow only.
"""

from __future__ import annotations

from importlib.metadata import version

import pyarrow as pa

from frazil.process import spare_imported_modules

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


def packed(rows: pa.RecordBatch) -> bytes:
    """Rows with their types in one value, as nothing that could be run when it is read."""
    with pa.BufferOutputStream() as out, pa.ipc.new_stream(out, rows.schema) as stream:
        stream.write_batch(rows)
    return bytes(out.getvalue().to_pybytes())


def unpacked(stream: bytes | pa.Buffer) -> pa.Table:
    """The rows of one `packed` value."""
    with pa.ipc.open_stream(stream) as read:
        return read.read_all()
