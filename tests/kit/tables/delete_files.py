"""Writes what PyIceberg can't: commits of other engines that delete rows by position or by equality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestWriter,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update.snapshot import _FastAppendFiles
from pyiceberg.typedef import Record

from frazil.tables.catalogs.pyiceberg import transaction
from frazil.tables.format_v3.writing import FileManifest

_PATH, _POS = 2147483546, 2147483545
"""Ids of the columns of https://iceberg.apache.org/spec/#position-delete-files."""

_PLACES = pa.schema([
    pa.field("file_path", pa.string(), False, {"PARQUET:field_id": str(_PATH)}),
    pa.field("pos", pa.int64(), False, {"PARQUET:field_id": str(_POS)}),
])  # fmt: skip
"""PyIceberg's own constant says `int` of the position, and strict readers refuse that."""


class DeleteFiles(_FastAppendFiles):
    """A commit that adds delete files, and nothing else."""

    def new_manifest_writer(self, spec: PartitionSpec) -> ManifestWriter:
        """See `_SnapshotProducer.new_manifest_writer`."""
        output = self.new_manifest_output()
        deletes = ManifestContent.DELETES
        return FileManifest(2, deletes, spec, self.schema(), output, self._snapshot_id, "null")


def live(table: Table) -> list[ManifestEntry]:
    """The data files of a table's head, oldest first."""
    head = table.refresh().current_snapshot()
    assert head
    entries = [e for m in head.manifests(table.io) for e in m.fetch_manifest_entry(table.io)]
    data = [e for e in entries if e.data_file.content == DataFileContent.DATA]
    return sorted(data, key=lambda e: (e.sequence_number or 0, e.data_file.file_path))


def delete_by_position(table: Table, *places: tuple[DataFile, Sequence[int]]) -> str:
    """Deletes rows of some data files of one partition by one delete file; returns its path."""
    pairs = sorted((file.file_path, at) for file, numbers in places for at in numbers)  # Trino relies on it
    every = [{"file_path": path, "pos": at} for path, at in pairs]
    names = [file.file_path.encode() for file, _ in places]
    bounds = {"lower_bounds": {_PATH: min(names)}, "upper_bounds": {_PATH: max(names)}}
    rows = pa.Table.from_pylist(every, _PLACES)
    return _deleted(table, DataFileContent.POSITION_DELETES, rows, places[0][0].partition, bounds)


def delete_by_equality(table: Table, _partition: Record | None = None, **values: Any) -> str:
    """Deletes rows with these values in the whole table, or one partition, as Flink does.

    Returns the delete file's path.
    """
    schema = table.schema().select(*values)
    rows = pa.Table.from_pylist([values], schema_to_pyarrow(schema))
    ids = {"equality_ids": [field.field_id for field in schema.fields]}
    return _deleted(table, DataFileContent.EQUALITY_DELETES, rows, _partition or Record(), ids)


def _deleted(
    table: Table, content: DataFileContent, rows: pa.Table, partition: Record, statistics: Mapping[str, Any]
) -> str:
    path = f"{table.location()}/data/{uuid4().hex}-deletes.parquet"
    output = table.io.new_output(path)
    with output.create() as stream:
        pq.write_table(rows, stream, store_schema=False)  # Java knows no Arrow
    file = DataFile.from_args(
        content=content, file_path=path, file_format=FileFormat.PARQUET, partition=partition,
        record_count=len(rows), file_size_in_bytes=len(output), **statistics,
    )  # fmt: skip
    file.spec_id = table.spec().spec_id
    tx = transaction(table.refresh())
    with DeleteFiles(Operation.DELETE, tx, table.io) as snapshot:
        snapshot.append_data_file(file)
    tx.commit_transaction()
    return path
