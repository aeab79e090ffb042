"""Rows of a frame, written to data files by tasks of Spark that hold them as Arrow.

A task imports PyArrow only.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from frazil.exact import values_of
from frazil.tables.format_v3.fields import NAMES
from frazil.tables.writing.conversion import rows_fitted, table_name
from frazil.tables.writing.parquet import FILES, DataFileWriter, FileLayout
from frazil.tables.writing.task import begin_task, rows_of

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame

RETURNED = pa.schema([("files", FILES), ("report", pa.string())])
"""What is said of each task: its new files, and what its watcher reports."""


class Watcher(Protocol):
    """Sees the rows of one task as they are written."""

    def add(self, columns: Mapping[str, pa.Array], rows: int) -> None:
        """Takes in some of them, by the names that the table has for its columns."""

    def report(self) -> str:
        """What it saw of all of them."""


Watch = Callable[[], Watcher]
"""Makes the watcher of a task."""


@dataclass(frozen=True, slots=True)
class Insertion:
    """What each task does with the rows that it is given, of which the columns stand as in the table."""

    layout: FileLayout
    version: str  # of Frazil
    watch: Watch | None = None

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Writes them; a row of `RETURNED`."""
        begin_task(self.version)
        writer = DataFileWriter(self.layout, f"00000-{uuid.uuid4()}")
        schema, watcher = self.layout.schema, self.watch() if self.watch is not None else None
        for batch in batches:
            columns = {table_name(own): array for own, array in zip(schema, batch.columns, strict=True)}
            writer.write(rows_fitted(columns, schema, len(batch)))
            if watcher is not None:
                watcher.add(columns, len(batch))
        report = pa.array([watcher.report() if watcher is not None else None], pa.string())
        files = pa.array([[file.row for file in writer.close()]], FILES)
        yield rows_of(RETURNED, files=files, report=report)


def insert_rows(rows: DataFrame, table: Table, target: int | None = None) -> tuple[DataFile, ...]:
    """Files with rows that have the table's columns, which no snapshot names; see `insert_watched`."""
    return insert_watched(rows, table, target)[0]


def insert_watched(
    rows: DataFrame, table: Table, target: int | None = None, watch: Watch | None = None
) -> tuple[tuple[DataFile, ...], tuple[str, ...]]:
    """Writes rows to files, as manifests describe them; and what the watcher of each task reports.

    Each task makes files of its own, of the rows as they come. Rows that were in other files have their ids.

    Args:
        target: Bytes of a file; None: as the table says.
        watch: Spark's workers get it.

    Raises:
        DifferentError: The table asks something of its files that no task can give them.
        PySparkException: The rows can't be made or read, or a task can't write them.
    """
    from frazil.quoting import quoted
    from frazil.tables.spark.session import in_tasks
    from frazil.tables.writing.data_files import file_layout
    from frazil.tables.writing.transfer import files_written
    from frazil.tables.writing.unwritable import refuse_unwritable

    refuse_unwritable(table)
    layout, names = file_layout(table), [field.name for field in table.schema().fields]
    if layout.row_ids and set(NAMES.values()) <= set(rows.columns):
        layout, names = layout.of_moved_rows, [*names, *NAMES.values()]
    work = Insertion(replace(layout, target=target or layout.target), version("frazil"), watch)
    # By place: Spark takes no name with a dot or a backtick for one of a task's columns.
    columns = {f"c{place}": quoted(name) for place, name in enumerate(names)}
    returned = in_tasks(rows, columns, work.run, RETURNED).toArrow()
    return files_written(table, returned), tuple(values_of(returned["report"].drop_null()))
