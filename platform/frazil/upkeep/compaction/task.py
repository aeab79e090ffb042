"""A task of a compaction, in a worker of Spark: the rows of each bin's files, as they are, in new files.

Imports PyArrow only, for Spark's workers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace

import pyarrow as pa
import pyarrow.parquet as pq

from frazil.tables.conversion import fitted
from frazil.tables.parquet import FILES, DataFileWriter, FileLayout, refuse_others

RETURNED = pa.schema([("rows", pa.int64()), ("files", FILES)])
"""What is said of each bin: how many rows were read, and the files that were written."""

_ID = b"PARQUET:field_id"
_WHOLE = 16 * 2**20
"""Bytes of a file that is read at once; of a larger one row group by row group."""


@dataclass(frozen=True, slots=True)
class OldFile:
    """A file to be written anew."""

    path: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Bins:
    """Bins by their numbers: files that are written anew together, and the bytes that a new one may have."""

    layout: FileLayout
    bins: tuple[tuple[tuple[OldFile, ...], int], ...]
    name: str  # begins the names of all new files, and nobody else's
    version: str  # of Frazil

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Writes the bins whose numbers come; rows of `RETURNED`."""
        refuse_others(self.version)
        pa.set_cpu_count(1)  # Spark has given this task one core
        for batch in batches:
            yield from map(self._rewritten, batch.column(0).to_pylist())

    def _rewritten(self, number: int) -> pa.RecordBatch:
        files, most = self.bins[number]
        writer, rows = DataFileWriter(replace(self.layout, target=most), f"{number:05}-{self.name}"), 0
        for batch in (batch for file in files for batch in self._read(file)):
            rows += len(batch)
            writer.write(batch)
        told = pa.array([[asdict(f) for f in writer.close()]], FILES)
        return pa.RecordBatch.from_arrays([pa.array([rows]), told], schema=RETURNED)

    def _read(self, file: OldFile) -> Iterator[pa.RecordBatch]:
        """The file's rows, in the table's columns."""
        with self.layout.store.open_input_file(file.path.partition("://")[2] or file.path) as opened:
            source = pa.BufferReader(opened.read()) if file.bytes <= _WHOLE else opened
            parquet = pq.ParquetFile(source, pre_buffer=file.bytes > _WHOLE)
            _check(list(parquet.schema_arrow), list(self.layout.schema))
            self._check_partition(parquet.schema_arrow)
            for batch in parquet.iter_batches(use_threads=False):
                yield self._of_table(batch)

    def _check_partition(self, found: pa.Schema) -> None:
        """Raises ValueError where a file has its partition's value in the manifest only.

        https://iceberg.apache.org/spec/#column-projection
        """
        partitions = self.layout.partitions
        for name, *_ in partitions.sources if partitions else ():
            if name not in found.names:
                raise ValueError(f"column {name} is not in a file, and the table is partitioned by it")

    def _of_table(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        held = set(batch.schema.names)
        columns = [
            fitted(batch[own.name], own.type) if own.name in held else pa.nulls(len(batch), own.type)
            for own in self.layout.schema
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.layout.schema)


def _check(found: list[pa.Field], wanted: list[pa.Field]) -> None:
    """Raises ValueError where one name is not one column: here columns are known by their names."""
    known, ids = {own.name: own for own in found}, {_id(own) for own in found}
    for own in wanted:
        was = known.get(own.name)
        if _id(own) is None or (_id(was) != _id(own) if was else _id(own) in ids):
            raise ValueError(f"column {own.name} has another id or another name in a file")
        if was:
            _check(_within(was.type), _within(own.type))


def _id(own: pa.Field | None) -> bytes | None:
    return (own.metadata or {}).get(_ID) if own else None


def _within(kind: pa.DataType) -> list[pa.Field]:
    if pa.types.is_struct(kind):
        return list(kind)
    if pa.types.is_list(kind):
        return [kind.value_field.with_name("element")]
    if pa.types.is_map(kind):
        return [kind.key_field.with_name("key"), kind.item_field.with_name("value")]
    return []
