"""Data files, written by Spark's workers; `data_files` says how, and what became of them.

Imports PyArrow only: PyIceberg, which takes a second of CPU, where a table has partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from frazil.exact import value_of
from frazil.tables.format_v3.row_ids import COLUMNS, ENCODING, are_wanted
from frazil.tables.reading.columns import Names, place_in_store
from frazil.tables.writing.conversion import table_name
from frazil.tables.writing.partitions import Key, Partitions, stream_of
from frazil.tables.writing.presence import count_values

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

HELD = 256 * 2**20
"""Bytes of Arrow that wait for their row groups, of all partitions and files of one task."""

_WAITING = 256 * 2**20
"""Bytes of unfinished files of partitions that are in memory."""

_SMALL = 16 * 2**20
"""Bytes of such a file that wait in memory; a larger one is on its way to the store."""

_UNDER_WAY = 10 * 2**20
"""Bytes in memory of a file on its way to S3: a part of it."""

_LEVEL = "compression_level"

_SAMPLE = 10_000
"""Rows of a file that tell how often its values repeat."""

_TRIED, _WORTH = 2**20, 16 * 2**20
"""Bytes of Arrow that are written at two levels for a trial, and of how many that is worth the while."""

_AS_SMALL = 1.03
"""What a column may take more at the quicker level; text takes 1.1 times as much and more."""

FILES = pa.list_(
    pa.struct(
        [("path", pa.string()), ("size", pa.int64()), ("footer", pa.binary()), ("partition", pa.binary())]
    )
)
"""`WrittenFile`s, as workers return them."""


@dataclass(frozen=True, slots=True)
class FileLayout:
    """How the data files of a table are written."""

    schema: pa.Schema  # with field ids; names as files have them
    location: str
    options: Mapping[str, Any]  # of `pyarrow.parquet.ParquetWriter`
    paths: tuple[str, ...]  # of all columns, as files have them
    dictionaries: tuple[str, ...]  # those that may have one
    quick: int | None  # a level for columns that the one in `options` makes no smaller; None: there is none
    target: int  # bytes of a file
    row_group: int  # bytes of Arrow
    partitions: Partitions | None
    # Where files go that PyIceberg has to be asked for: the table's location and properties.
    elsewhere: tuple[str, Mapping[str, str]] | None
    store: FileSystem = field(repr=False)  # opened by the keys of the one who planned
    names: Names = field(default_factory=dict)  # ids of columns, for files that have none
    row_ids: bool = False  # whether rows have ids

    @property
    def of_moved_rows(self) -> FileLayout:
        """The same for files of rows that were in other ones before: with their ids, where they have some."""
        if not self.row_ids or are_wanted(self.schema):
            return self
        options = {**self.options, "column_encoding": ENCODING}
        schema = pa.schema([*self.schema, *COLUMNS])
        paths = (*self.paths, *(own.name for own in COLUMNS))
        return replace(self, schema=schema, options=options, paths=paths)

    def path(self, name: str, key: Key) -> str:
        """The location of a new file."""
        if self.elsewhere is None:
            return f"{self.location}/{name}"
        from pyiceberg.table.locations import load_location_provider

        where, properties = self.elsewhere
        folder = self.partitions.folder_of(key) if self.partitions else None
        return load_location_provider(where, dict(properties)).new_data_location(name, folder)


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A data file as the one who wrote it saw it."""

    path: str
    size: int
    footer: bytes
    partition: bytes  # its values, as an Arrow stream

    @property
    def row(self) -> dict[str, Any]:
        """The same, as `FILES` has it."""
        return {name: getattr(self, name) for name in self.__slots__}


def count_rows(counted: dict[str, int], rows: pa.RecordBatch | pa.Table) -> None:
    """Adds the values of rows, by what the table calls their columns."""
    count_values(counted, dict(zip(map(table_name, rows.schema), rows.columns, strict=True)))


class DataFileWriter:
    """Writes batches of a table's rows: the files of each partition one after the other."""

    def __init__(self, layout: FileLayout, name: str) -> None:
        """`name` begins the names of all files, and nobody else's."""
        self._layout, self._name = layout, name
        self._buffers: dict[Key, list[pa.RecordBatch]] = {}
        self._open: dict[Key, _File] = {}
        self._sizes: dict[Key, int] = {}
        self._done: list[WrittenFile] = []
        self._count = 0
        self.values: dict[str, int] = {}
        """Of the rows that were taken, by what the table calls their columns."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Takes rows, of `layout.schema`."""
        count_rows(self.values, batch)
        split = self._layout.partitions.split if self._layout.partitions else _whole
        for key, rows in split(batch):
            self._buffers.setdefault(key, []).append(rows)
            self._sizes[key] = self._sizes.get(key, 0) + rows.nbytes
            if self._sizes[key] >= self._layout.row_group:
                self._flush(key)
        while self.buffered > HELD:
            self._flush(max(self._sizes, key=lambda key: self._sizes[key]))

    @property
    def buffered(self) -> int:
        """Bytes of Arrow that wait for their row groups."""
        return sum(self._sizes.values())

    def flush(self) -> None:
        """Writes all that waits."""
        for key in list(self._buffers):
            self._flush(key)

    def close(self) -> list[WrittenFile]:
        """All files, finished."""
        for key in list(self._buffers):
            self._flush(key)
            self._finish(key)
        for key in list(self._open):
            self._finish(key)
        return self._done

    def _flush(self, key: Key) -> None:
        rows = pa.Table.from_batches(self._buffers.pop(key))
        del self._sizes[key]
        if key not in self._open:
            self._open[key] = self._new(key, rows)
        self._open[key].write(rows)
        if self._open[key].size >= self._layout.target:
            self._finish(key)
        while len(self._open) > 1 and sum(file.buffered for file in self._open.values()) > _WAITING:
            self._finish(max(self._open, key=lambda key: self._open[key].size))

    def _new(self, key: Key, rows: pa.Table) -> _File:
        self._count += 1
        path = self._layout.path(f"{self._name}-{self._count:05}.parquet", key)
        return _File(self._layout, path, key, _measured(rows, self._layout))

    def _finish(self, key: Key) -> None:
        if key in self._open:
            self._done.append(self._open.pop(key).close())


class _File:
    def __init__(self, layout: FileLayout, path: str, key: Key, options: Mapping[str, Any]) -> None:
        self._path, self._key, self._store = path, key, layout.store
        self._out = _Waiting(self._opened) if layout.partitions else self._opened()
        sink = pa.PythonFile(self._out, mode="w") if layout.partitions else self._out
        self._writer = pq.ParquetWriter(sink, layout.schema, **options)

    def _opened(self) -> pa.NativeFile:
        return self._store.open_output_stream(place_in_store(self._path))

    @property
    def size(self) -> int:
        return int(self._out.tell())

    @property
    def buffered(self) -> int:
        """Bytes of it in memory."""
        return self.size if isinstance(self._out, _Waiting) and self._out.waits else _UNDER_WAY

    def write(self, rows: pa.Table) -> None:
        self._writer.write_table(rows, row_group_size=max(1, len(rows)))

    def close(self) -> WrittenFile:
        self._writer.close()
        size = self.size
        self._out.close()
        footer = BytesIO()
        self._writer.writer.metadata.write_metadata_file(footer)
        return WrittenFile(self._path, size, footer.getvalue(), stream_of(self._key))


class _Waiting:
    """A file, as PyArrow asks for it, that waits in memory as long as it is small."""

    def __init__(self, opened: Callable[[], pa.NativeFile]) -> None:
        self._opened, self._size = opened, 0
        self._buffer = pa.BufferOutputStream()
        self._out: pa.NativeFile | None = None
        self.closed = False

    @property
    def waits(self) -> bool:
        """Whether nothing of it is on its way."""
        return self._out is None

    def write(self, data: bytes) -> int:
        (self._buffer if self._out is None else self._out).write(data)
        self._size += len(data)
        if self._size > _SMALL:
            self._send()
        return len(data)

    def _send(self) -> pa.NativeFile:
        if self._out is None:
            self._out = self._opened()
            self._out.write(self._buffer.getvalue())
        return self._out

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        """Nothing: a file of S3 is there once it is closed."""

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._send().close()


def _measured(rows: pa.Table, layout: FileLayout) -> dict[str, Any]:
    """What the writer of a file is told, by its first rows."""
    options = {**layout.options, "use_dictionary": _repeating(rows, layout.dictionaries)}
    if layout.quick is None or rows.nbytes < _WORTH:
        return options
    tried = rows.slice(0, min(_SAMPLE, _TRIED * len(rows) // rows.nbytes))
    quick, slow = (_sizes(tried, {**options, _LEVEL: n}) for n in (layout.quick, options[_LEVEL]))
    levels = {p: layout.quick if quick[p] <= slow[p] * _AS_SMALL else options[_LEVEL] for p in layout.paths}
    return {**options, _LEVEL: levels}


def _sizes(rows: pa.Table, options: Mapping[str, Any]) -> dict[str, int]:
    """What each column takes in a file, by its path."""
    with pq.ParquetWriter(pa.BufferOutputStream(), rows.schema, **options) as writer:
        writer.write_table(rows)
    group = writer.writer.metadata.row_group(0)
    chunks = (group.column(place) for place in range(group.num_columns))
    return {chunk.path_in_schema: chunk.total_compressed_size for chunk in chunks}


def _repeating(rows: pa.Table, paths: tuple[str, ...]) -> list[str]:
    """The columns of which a dictionary saves room; of others it only costs, a sixth of a landing of text."""
    sample, repeating = rows.slice(0, _SAMPLE), set(paths)
    for own in rows.schema:
        if own.name in repeating and value_of(pc.count_distinct(stored(sample[own.name]))) > len(sample) / 2:
            repeating.remove(own.name)
    return [path for path in paths if path in repeating]


def stored(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """What files hold of a column: PyArrow counts no UUIDs."""
    kind = column.type
    return column.cast(kind.storage_type) if isinstance(kind, pa.BaseExtensionType) else column


def _whole(batch: pa.RecordBatch) -> Iterator[tuple[Key, pa.RecordBatch]]:
    if len(batch):
        yield (), batch
