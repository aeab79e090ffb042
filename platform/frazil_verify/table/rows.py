"""The rows of a table as canonical values, from its Parquet files, by the ids of their fields."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from frazil_verify.findings import UnverifiableError
from frazil_verify.table.canonical import field_id, lacking, values_of
from frazil_verify.table.metadata import Column, DataFile, TableMetadata
from frazil_verify.table.vectors import vector

_BATCH = 16_384

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Rows:
    """Rows of chosen columns; memory is bounded by one row group of a file."""

    table: TableMetadata
    columns: tuple[Column, ...]

    def __iter__(self) -> Iterator[list[Row]]:
        """The rows that no delete file takes away, in batches."""
        deleted = self._deleted()
        for file in self.table.data_files():
            first = 0
            for batch in self._batches(file):
                rows = self._rows(batch)
                if gone := deleted.get(file.path):
                    rows = [row for at, row in enumerate(rows, first) if at not in gone]
                first += len(batch)
                yield rows

    def _rows(self, batch: pa.RecordBatch) -> list[Row]:
        arrays = {field_id(field): batch.column(at) for at, field in enumerate(batch.schema)}
        columns = [
            values_of(arrays[c.id], c.type) if c.id in arrays else lacking(c, len(batch))
            for c in self.columns
        ]
        return list(zip(*columns, strict=True)) if columns else [()] * len(batch)

    def _batches(self, file: DataFile) -> Iterator[pa.RecordBatch]:
        if file.format.upper() != "PARQUET":
            raise UnverifiableError(f"{file.path} is {file.format}; only Parquet is read")
        wanted = {c.id for c in self.columns}
        with self.table.files.open(file.path) as source:
            parquet = pq.ParquetFile(source)
            schema = parquet.schema_arrow
            chosen = [field.name for field in schema if field_id(field) in wanted]
            yield from parquet.iter_batches(_BATCH, columns=chosen)

    def _deleted(self) -> dict[str, frozenset[int]]:
        places: dict[str, list[int]] = defaultdict(list)
        for file in self.table.position_deletes():
            with self.table.files.open(file.path) as source:
                if file.is_vector:
                    places[file.of] += vector(source, file)
                else:
                    for path, position in _positions(source):
                        places[path].append(position)
        return {path: frozenset(each) for path, each in places.items()}


def _positions(source: pa.NativeFile) -> Iterator[tuple[str, int]]:
    read = pq.read_table(source, columns=["file_path", "pos"])
    yield from zip(read["file_path"].to_pylist(), read["pos"].to_pylist(), strict=True)
