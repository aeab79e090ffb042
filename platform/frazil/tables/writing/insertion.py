"""Rows of a frame, written to data files by tasks of Spark that hold them as Arrow.

A task imports PyArrow only.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING

import pyarrow as pa

from frazil.tables.format_v3.fields import NAMES
from frazil.tables.writing.conversion import rows_fitted, table_name
from frazil.tables.writing.parquet import FILES, DataFileWriter, FileLayout
from frazil.tables.writing.task import begin_task, rows_of

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame

RETURNED = pa.schema([("files", FILES)])
"""What is said of each task: its new files."""


@dataclass(frozen=True, slots=True)
class Insertion:
    """What each task does with the rows that it is given, of which the columns stand as in the table."""

    layout: FileLayout
    version: str  # of Frazil

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Writes them; a row of `RETURNED`."""
        begin_task(self.version)
        writer = DataFileWriter(self.layout, f"00000-{uuid.uuid4()}")
        schema = self.layout.schema
        for batch in batches:
            columns = {table_name(own): array for own, array in zip(schema, batch.columns, strict=True)}
            writer.write(rows_fitted(columns, schema, len(batch)))
        yield rows_of(RETURNED, files=pa.array([[asdict(file) for file in writer.close()]], FILES))


def insert_rows(rows: DataFrame, table: Table, target: int | None = None) -> tuple[DataFile, ...]:
    """Writes rows that have the table's columns to files that no snapshot names, as manifests describe them.

    Each task makes files of its own, of the rows as they come. Rows that were in other files have their ids.

    Args:
        target: Bytes of a file; None: as the table says.

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
    work = Insertion(replace(layout, target=target or layout.target), version("frazil"))
    # By place: Spark takes no name with a dot or a backtick for one of a task's columns.
    columns = {f"c{place}": quoted(name) for place, name in enumerate(names)}
    return files_written(table, in_tasks(rows, columns, work.run, RETURNED).toArrow())
