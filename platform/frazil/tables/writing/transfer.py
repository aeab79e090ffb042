"""Rows of data files, moved into new ones by tasks of Spark: of compactions, and of merges of changes.

A task imports PyArrow only.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.exact import values_of
from frazil.tables.format_v3.row_ids import Origin, are_wanted, padded, with_row_ids
from frazil.tables.metadata.files import LARGEST
from frazil.tables.reading.columns import Batch, FileReader, StoredFile, stored_file
from frazil.tables.reading.deleted import DeletedRows, DeleteFile, ids_wanted
from frazil.tables.writing.conversion import IN_FILES, field_id, rows_fitted
from frazil.tables.writing.parquet import FILES, DataFileWriter, FileLayout, WrittenFile, count_rows, stored
from frazil.tables.writing.sorting import SortKey, in_order
from frazil.tables.writing.task import READS, TOOK, Meter, begin_task, count_reads, rows_of

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table
    from pyspark.sql import SparkSession

RETURNED = pa.schema(
    [
        ("rows", pa.int64()), ("gone", pa.int64()), ("values_gone", pa.string()), ("files", FILES),
        (TOOK, pa.float64()), (READS, pa.int64()),
    ]
)  # fmt: skip
"""What is said of each bin: the rows that were read, those that were left out, with how many values of each
column, the new files, and the task's CPU seconds and requests that read."""

_PLACE = "$frazil_place"

_SEARCHED = 64 * 2**20
"""Bytes of rows that are compared with keys at once: each time these are put into a hash table."""


@dataclass(frozen=True, slots=True)
class OldFile:
    """A file to be read.

    Args:
        constants: Values that its rows have in columns which are not in it, by the columns' ids.
        deletes: Those that apply to it.
        origin: Where its rows have their ids from; None: no snapshot names it, and they have none yet.
        content: All of it, where it was read before.
        rows: In it, deleted ones among them.
    """

    path: str
    bytes: int
    constants: Mapping[str, pa.Scalar] = field(default_factory=dict)
    deletes: tuple[DeleteFile, ...] = ()
    origin: Origin | None = None
    content: pa.Buffer | None = field(default=None, repr=False)
    rows: int = 0

    @property
    def stored(self) -> StoredFile:
        """The file as the store has it that holds the table's data."""
        return replace(stored_file(self.path, self.bytes), content=self.content)


@dataclass(frozen=True, slots=True)
class FileBin:
    """Files that are written anew together.

    Args:
        files: Their rows stay, but those of keys that go.
        most: Bytes that a new file may have.
        added: Files of which all rows stay, behind those.
        keys_in: Files with keys that go; others are in `Bins.gone`.
    """

    files: tuple[OldFile, ...]
    most: int = LARGEST
    added: tuple[OldFile, ...] = ()
    keys_in: tuple[OldFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Bins:
    """Bins by their numbers."""

    layout: FileLayout
    bins: tuple[FileBin, ...]
    name: str  # begins the names of all new files, and nobody else's
    version: str  # of Frazil
    gone: pa.Table | None = None  # keys whose rows go, in columns as files have them; None: all rows stay
    order: tuple[SortKey, ...] = ()  # of the rows that stay; empty: as they come

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Writes the bins whose numbers come; rows of `RETURNED`."""
        begin_task(self.version)
        for batch in batches:
            yield from Meter().on(map(self._rewritten, values_of(batch.column(0))))

    def _rewritten(self, number: int) -> pa.RecordBatch:
        bin_ = self.bins[number]
        layout, name = replace(self.layout, target=bin_.most), f"{number:05}-{self.name}"
        added = rows_in(layout, bin_.added)
        moved = move_rows(layout, name, bin_.files, self._keys(bin_), added, self.order)
        files = pa.array([[f.row for f in moved.files]], FILES)
        values = pa.array([json.dumps(moved.values_gone)])
        return rows_of(
            RETURNED,
            rows=pa.array([moved.rows]),
            gone=pa.array([moved.gone]),
            values_gone=values,
            files=files,
        )

    def _keys(self, bin_: FileBin) -> pa.Table | None:
        """The keys whose rows go from a bin."""
        if self.gone is None:
            return None
        names = self.gone.column_names
        own = (_plain(pa.Table.from_batches([b])) for b in rows_in(self.layout, bin_.keys_in, names))
        return pa.concat_tables([_plain(self.gone), *own])


@dataclass(frozen=True, slots=True)
class Moved:
    """How many rows were read, how many of them were left out, and the new files."""

    rows: int
    gone: int
    files: list[WrittenFile]
    values: dict[str, int]  # that these hold, by what the table calls their columns
    values_gone: dict[str, int]  # of the rows that were left out


def move_rows(
    layout: FileLayout,
    name: str,
    files: Iterable[OldFile],
    keys: pa.Table | None,
    added: Iterable[pa.RecordBatch],
    order: Sequence[SortKey] = (),
) -> Moved:
    """Writes the rows of some files anew, but those that have one of some keys, and others behind them.

    `name` begins the names of the new files, and nobody else's.
    """
    layout = layout.of_moved_rows
    writer, rows, kept, gone = DataFileWriter(layout, name), 0, 0, dict[str, int]()
    parts = _together(rows_in(layout, files))
    for part in in_order(parts, order) if order else parts:
        left = part
        if keys is not None:
            goes = _has_key(part, keys)
            left = part.filter(pc.invert(goes))
            count_rows(gone, part.filter(goes))
        rows, kept = rows + len(part), kept + len(left)
        _write(writer, left.to_batches())
    _write(writer, (padded(batch, layout.schema) for batch in added))
    return Moved(rows, rows - kept, writer.close(), writer.values, gone)


def rows_in(
    layout: FileLayout, files: Iterable[OldFile], columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of some files, in the table's columns, or some of them."""
    for file in files:
        yield from _read(layout, file, columns)


def deleted_places(layout: FileLayout, file: OldFile) -> NDArray[np.int64]:
    """Where the rows of a file stand that delete files take away by their places; one may be named twice."""
    deleted = DeletedRows(_reader(layout))
    return np.concatenate([np.zeros(0, np.int64), *(deleted.places(d, file.path) for d in file.deletes)])


def fetched(layout: FileLayout, file: OldFile) -> OldFile:
    """A file that was read at once: a small one, of which rows are asked for twice."""
    return replace(file, content=_reader(layout).fetched(file.stored).content)


def _reader(layout: FileLayout) -> FileReader:
    return FileReader(layout.names, {"": layout.store})


def _read(layout: FileLayout, file: OldFile, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    """Columns are known by their ids, at every depth."""
    own = layout.schema if columns is None else pa.schema([layout.schema.field(n) for n in columns])
    reader, how = _reader(layout), replace(IN_FILES, constants=file.constants)
    ids, deleted, moves = ids_wanted(own, file.deletes), DeletedRows(reader), are_wanted(own)
    for batch in reader.batches(file.stored, ids, few=columns is not None):
        rows = Batch(batch.first, with_row_ids(batch.rows, batch.first, file.origin)) if moves else batch
        left = deleted.left(rows, file.path, file.deletes, file.constants)
        by_id = {field_id(f): left.column(place) for place, f in enumerate(left.schema)}
        yield rows_fitted(by_id, own, len(left), how)


def _write(writer: DataFileWriter, batches: Iterable[pa.RecordBatch]) -> None:
    for batch in batches:
        writer.write(batch)


def _together(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches put together, so that they are compared with keys at once."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(b.nbytes for b in waiting) >= _SEARCHED:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


def _has_key(rows: pa.Table, keys: pa.Table) -> pa.ChunkedArray:
    """For each row whether it has one of some keys."""
    names = keys.column_names
    plain = _plain(rows.select(names))
    met = reduce(pc.and_, (pc.is_in(plain[n], value_set=keys[n]) for n in names))
    if len(names) == 1:
        return met
    # Each column has a value of some key; now those of one and the same.
    places = pa.array(np.flatnonzero(met.to_numpy()))
    hit = plain.take(places).append_column(_PLACE, places).join(keys, names, join_type="left semi")
    exact = np.zeros(len(rows), bool)
    exact[hit[_PLACE].to_numpy()] = True
    return pa.chunked_array([exact])


def _plain(rows: pa.Table) -> pa.Table:
    """The same as files hold it: PyArrow looks for no UUIDs, and joins none."""
    return pa.table({name: stored(rows[name]) for name in rows.column_names})


def old_file(
    table: Table, file: DataFile, deletes: Iterable[DataFile] = (), origin: Origin | None = None
) -> OldFile:
    """A file of a table as tasks are told of it, with the delete files that apply to it.

    All are where the table's data is. See `OldFile` for the origin.
    """
    from frazil.tables.reading.parts import constants_of, delete_file

    sizes = ((each, stored_file(each.file_path, each.file_size_in_bytes)) for each in deletes)
    gone = tuple(delete_file(table, each, stored) for each, stored in sizes)
    constants = dict(constants_of(table, file))
    return OldFile(file.file_path, file.file_size_in_bytes, constants, gone, origin, rows=file.record_count)


def run_bins(
    spark: SparkSession,
    table: Table,
    bins: Sequence[FileBin],
    tasks: int,
    gone: pa.Table | None = None,
    order: tuple[SortKey, ...] = (),
) -> pa.Table:
    """Lets tasks write bins of a table's files anew; rows of `RETURNED`, a bin each."""
    from frazil.tables.spark.session import in_tasks
    from frazil.tables.writing.data_files import file_layout

    work = Bins(file_layout(table), tuple(bins), str(uuid.uuid4()), version("frazil"), gone, order)
    numbers = spark.range(0, len(bins), 1, min(len(bins), tasks))
    returned = in_tasks(numbers, {"id": "id"}, work.run, RETURNED).toArrow()
    count_reads(table.location(), returned)
    return returned


def files_written(table: Table, returned: pa.Table) -> tuple[DataFile, ...]:
    """The new files of all bins, as manifests describe them."""
    from frazil.tables.writing.data_files import data_file

    files = (WrittenFile(**file) for of_bin in values_of(returned["files"]) for file in of_bin)
    return tuple(data_file(table, file) for file in files)
