"""Columns of data files by their ids, which the files have, or the table's mapping of names.

A task imports PyArrow only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from frazil.tables.catalogs.requests import OPENED, REQUESTED, Requests
from frazil.tables.writing.conversion import ID, Matching, field_id, fitted

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

_BATCH = 8 * 2**20
"""Bytes of a file that become a batch: values that repeat, or are packed, are more as Arrow."""

_MOST = 2**16  # rows of a batch

_WHOLE = 16 * 2**20
"""Bytes of a file that is read at once."""

_BY_NAME = Matching(lambda own: own.name, lambda own: own.name, leaves_out=True)

_HOLE, _RANGE = 8 * 2**10, 32 * 2**20
"""Bytes between columns that Arrow reads along, and those that it reads by one request at most:
`CacheOptions::LazyDefaults`, https://arrow.apache.org/docs/cpp/api/io.html"""

Names = Mapping[str, tuple[int, "Names"]]
"""Ids of columns by their names in files that have none, with those of the columns within."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file.

    Args:
        path: As manifests have it.
        store: One of `FileReader.stores`.
        place: As that store has it.
        content: All of it, where it was read before.
    """

    path: str
    store: str
    place: str
    bytes: int
    content: pa.Buffer | None = field(default=None, repr=False)


def stored_file(path: str, size: int, store: str = "") -> StoredFile:
    """A file as the store has it that holds a table's data."""
    return StoredFile(path, store, place_in_store(path), size)


def place_in_store(path: str) -> str:
    """A file's path as its store has it."""
    return path.partition("://")[2] or path


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of a file, the first of which has a place in it."""

    first: int
    rows: pa.RecordBatch


@dataclass(frozen=True, slots=True)
class FileReader:
    """Reads Parquet files.

    Args:
        names: Ids, for files that have none.
        stores: Opened by the keys of the one who planned.
    """

    names: Names
    stores: Mapping[str, FileSystem] = field(repr=False)

    def batches(
        self,
        file: StoredFile,
        ids: frozenset[str],
        start: int = 0,
        end: float = math.inf,
        *,
        few: bool = False,
    ) -> Iterator[Batch]:
        """The columns with some ids, or with one of them within, as far as the file has them.

        Of the row groups that begin between two places. `few`: they are a small part of the file.
        """
        whole = file.content is not None or (file.bytes <= _WHOLE and not few)
        with self._opened(file, whole=whole) as source:
            parquet = pq.ParquetFile(source, pre_buffer=not whole, coerce_int96_timestamp_unit="us")
            wanted = [own for own in _with_ids(parquet.schema_arrow, self.names) if _has(own, ids)]
            first = 0
            for number in range(parquet.num_row_groups):
                group = parquet.metadata.row_group(number)
                if start <= _begins(group) < end:
                    if not whole:
                        _count(file, ranges_of(group, {own.name for own in wanted}))
                    yield from _batches_of(parquet, number, wanted, first)
                first += group.num_rows

    def fetched(self, file: StoredFile) -> StoredFile:
        """A file with all that is in it, which is read by one request."""
        with self._opened(file, whole=True) as source:
            return replace(file, content=source.read_buffer())

    def bytes_at(self, file: StoredFile, offset: int, count: int) -> bytes:
        """Some bytes of a file."""
        with self._opened(file, whole=False) as source:
            content: bytes = source.read_at(count, offset)
        return content

    @contextmanager
    def _opened(self, file: StoredFile, *, whole: bool) -> Iterator[pa.NativeFile]:
        if file.content is not None:
            yield pa.BufferReader(file.content)
            return
        _count(file, OPENED)
        with self.stores[file.store].open_input_file(file.place) as opened:
            yield pa.BufferReader(opened.read_buffer()) if whole else opened


def _count(file: StoredFile, reads: int) -> None:
    REQUESTED.of_file(file.path, Requests(reads=reads))


def ranges_of(group: pq.RowGroupMetaData, names: Set[str]) -> int:
    """Requests by which Arrow reads some columns of a row group, as it puts them together."""
    columns = (group.column(place) for place in range(group.num_columns))
    spans = sorted(_span(c) for c in columns if c.path_in_schema.partition(".")[0] in names)
    requests, begin, end = 0, -math.inf, -math.inf
    for first, behind in spans:
        if first - end > _HOLE or behind - begin > _RANGE:
            requests, begin = requests + 1, first
        end = behind
    return requests


def _span(column: pq.ColumnChunkMetaData) -> tuple[int, int]:
    first = int(column.dictionary_page_offset or column.data_page_offset)
    return first, first + int(column.total_compressed_size)


def _batches_of(parquet: pq.ParquetFile, number: int, wanted: list[pa.Field], first: int) -> Iterator[Batch]:
    """One row group; of it as many rows at once as fit into memory."""
    group, names = parquet.metadata.row_group(number), [own.name for own in wanted]
    if not wanted:
        yield Batch(first, _of_nothing(group.num_rows))
        return
    size = max(1, min(_MOST, _BATCH * group.num_rows // max(1, group.total_byte_size)))
    for batch in parquet.iter_batches(size, row_groups=[number], columns=names, use_threads=False):
        # PyArrow takes a name with a dot for a path, and may read more than was asked for.
        arrays = [batch.column(batch.schema.get_field_index(name)) for name in names]
        typed = [fitted(a, own.type, _BY_NAME) for a, own in zip(arrays, wanted, strict=True)]
        yield Batch(first, pa.RecordBatch.from_arrays(typed, schema=pa.schema(wanted)))
        first += len(batch)


def _of_nothing(rows: int) -> pa.RecordBatch:
    """Rows that have none of the columns."""
    nothing = pa.StructArray.from_buffers(pa.struct([]), rows, [None])
    return pa.RecordBatch.from_struct_array(nothing)


def _begins(group: pq.RowGroupMetaData) -> int:
    return _span(group.column(0))[0]


def _has(own: pa.Field, ids: frozenset[str]) -> bool:
    return field_id(own) in ids or any(_has(each, ids) for each in _within(own.type))


def _within(kind: pa.DataType) -> list[pa.Field]:
    return [kind.field(place) for place in range(kind.num_fields)]


def _with_ids(schema: pa.Schema, names: Names) -> pa.Schema:
    """The schema of a file; of one without any ids with those that its table maps names to.

    Raises:
        ValueError: There are none, and the table says nothing of names.
    """
    if any(map(_has_id, schema)):
        return schema
    if not names:
        raise ValueError("a file has no field ids, and its table has no schema.name-mapping.default")
    return pa.schema(_named(schema, names))


def _has_id(own: pa.Field) -> bool:
    return bool(field_id(own)) or any(map(_has_id, _within(own.type)))


def _named(fields: Iterable[pa.Field], names: Names) -> list[pa.Field]:
    """Those fields that have a name among these, with ids."""
    known = ((own, names[own.name]) for own in fields if own.name in names)
    return [_field(own, number, within) for own, (number, within) in known]


def _field(own: pa.Field, number: int, within: Names) -> pa.Field:
    return pa.field(own.name, _type(own.type, within), own.nullable, {ID: str(number)})


def _type(kind: pa.DataType, names: Names) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct(_named(kind, names))
    if pa.types.is_map(kind):
        key, item = (_field(f, *names[n]) for f, n in ((kind.key_field, "key"), (kind.item_field, "value")))
        return pa.map_(key, item)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_field(kind.value_field, *names["element"]))
    return kind
