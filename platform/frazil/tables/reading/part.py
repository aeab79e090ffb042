"""Parts of data files, read by tasks: as the table has its columns now, and without deleted rows.

A task imports PyArrow only. What a file does not tell stands in its part, by the rules of
https://iceberg.apache.org/spec/#column-projection
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from frazil.exact import values_of
from frazil.tables.format_v3.row_ids import Origin, are_wanted, with_row_ids
from frazil.tables.reading.columns import Batch, FileReader, StoredFile
from frazil.tables.reading.deleted import DeletedRows, DeleteFile, ids_wanted
from frazil.tables.writing.conversion import IN_FILES, field_id, rows_fitted
from frazil.tables.writing.task import begin_task


@dataclass(frozen=True, slots=True)
class Part:
    """Those row groups of a file that begin between two places.

    Args:
        constants: Values that rows have in columns which are not in the file, by the columns' ids.
        deletes: Delete files that apply, by their places in `PartReader.deletes`.
        origin: Where the rows have their ids from; None: they have none.
        taking: Delete files, likewise; only rows are read that one of them takes away. None: all rows.
    """

    file: StoredFile
    start: int
    end: int
    constants: Mapping[str, pa.Scalar] = field(default_factory=dict)
    deletes: tuple[int, ...] = ()
    origin: Origin | None = None
    taking: tuple[int, ...] | None = None

    @property
    def bytes(self) -> int:
        """What is read of the file, about."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class PartReader:
    """Reads parts of a table's files.

    Args:
        schema: The columns to be read, with field ids; one without gets the path of the file.
        bins: Of each task the parts that it reads.
    """

    schema: pa.Schema
    bins: tuple[tuple[Part, ...], ...]
    deletes: tuple[DeleteFile, ...]
    reader: FileReader
    version: str  # of Frazil

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of the bins whose numbers come."""
        begin_task(self.version)
        for batch in batches:
            for number in values_of(batch.column(0)):
                deleted = DeletedRows(self.reader)
                for part in self.bins[number]:
                    yield from self._rows(part, deleted)

    def _rows(self, part: Part, deleted: DeletedRows) -> Iterator[pa.RecordBatch]:
        """The rows of one part."""
        own = pa.schema([f for f in self.schema if field_id(f)])
        how = replace(IN_FILES, constants=part.constants)
        deletes, moves = [self.deletes[place] for place in part.deletes], are_wanted(own)
        taking = None if part.taking is None else [self.deletes[place] for place in part.taking]
        ids = ids_wanted(own, (*deletes, *(taking or ())))
        for batch in self.reader.batches(part.file, ids, part.start, part.end):
            rows = Batch(batch.first, with_row_ids(batch.rows, batch.first, part.origin)) if moves else batch
            left = deleted.left(rows, part.file.path, deletes, part.constants, taking)
            known = {field_id(f): left.column(place) for place, f in enumerate(left.schema)}
            yield self._shown(rows_fitted(known, own, len(left), how), len(left), part)

    def _shown(self, rows: pa.RecordBatch, count: int, part: Part) -> pa.RecordBatch:
        """Rows with the path of their file, where it is asked for."""
        paths = pa.repeat(part.file.path, count)
        columns = [rows[f.name] if field_id(f) else paths for f in self.schema]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)
