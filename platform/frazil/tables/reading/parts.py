"""How the reading of data files is shared out: which tasks read which parts of them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from uuid import UUID

from frazil.tables.format_v3.fields import (
    OFFSET,
    REFERENCED_FILE,
    SIZE,
    DeleteKey,
    delete_key,
    field_of,
    is_vector,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.fs import FileSystem
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table
    from pyiceberg.types import IcebergType

    from frazil.tables.format_v3.row_ids import Origin
    from frazil.tables.reading.columns import Names, StoredFile
    from frazil.tables.reading.deleted import DeleteFile
    from frazil.tables.reading.part import Part

_OF_TASK = 32 * 2**20
"""Bytes of files that a task reads."""

_MAPPING = "schema.name-mapping.default"

_OPENING = 4 * 2**20
"""Bytes that could be read in the time that it takes to open a file."""


@dataclass(frozen=True)
class Planned:
    """What it takes to read some files.

    Attributes:
        stores: Where they are, by the names that the parts have for these.
        rows: Of all data files, deleted ones among them.
    """

    parts: tuple[Part, ...]
    deletes: tuple[DeleteFile, ...]
    stores: Mapping[str, FileSystem]
    rows: int


def planned(
    table: Table,
    files: Iterable[tuple[DataFile, Sequence[DataFile]]],
    origins: Mapping[str, Origin] | None = None,
    taking: Mapping[str, Sequence[DataFile]] | None = None,
) -> Planned:
    """Parts of some data files, each with the delete files that apply to it.

    Args:
        origins: By the path of a file where its rows have their ids from.
        taking: By the path of a file the delete files of which only rows are read that they take away.
    """
    from frazil.tables.reading.part import Part

    stores, rows = _Stores(table), 0
    deletes = _Deletes(table, stores)
    parts: list[Part] = []
    for file, gone in files:
        stored, constants = stores.stored(file), dict(constants_of(table, file))
        applying, rows = deletes.places(gone), rows + file.record_count
        origin = (origins or {}).get(file.file_path)
        taken = None if taking is None else deletes.places(taking[file.file_path])
        parts += [
            Part(stored, *edges, constants, applying, origin, taken)
            for edges in _cut(file.file_size_in_bytes)
        ]
    return Planned(tuple(parts), tuple(deletes.files), stores.opened, rows)


class _Deletes:
    """Delete files that are told to tasks, once each."""

    def __init__(self, table: Table, stores: _Stores) -> None:
        self._table, self._stores = table, stores
        self._known: dict[DeleteKey, int] = {}
        self.files: list[DeleteFile] = []

    def places(self, deletes: Iterable[DataFile]) -> tuple[int, ...]:
        """Where some of them stand among all."""
        return tuple(map(self._place, deletes))

    def _place(self, each: DataFile) -> int:
        if (place := self._known.get(delete_key(each))) is None:
            place = self._known[delete_key(each)] = len(self.files)
            self.files.append(delete_file(self._table, each, self._stores.stored(each)))
        return place


def packed(parts: Iterable[Part]) -> tuple[tuple[Part, ...], ...]:
    """Parts by the task that reads them."""
    bins: list[list[Part]] = []
    room = 0
    for part in parts:
        if (size := part.bytes + _OPENING) > room:
            bins.append([])
            room = _OF_TASK + _OPENING
        bins[-1].append(part)
        room -= size
    return tuple(map(tuple, bins))


def _cut(size: int) -> Iterator[tuple[int, int]]:
    count = max(1, math.ceil(size / _OF_TASK))
    return pairwise(size * number // count for number in range(count + 1))


class _Stores:
    """Where a table's files are, opened once each."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.opened: dict[str, FileSystem] = {}

    def stored(self, file: DataFile) -> StoredFile:
        from pyiceberg.io.pyarrow import PyArrowFileIO

        from frazil.tables.catalogs.file_io import opened_files
        from frazil.tables.reading.columns import StoredFile

        scheme, bucket, place = PyArrowFileIO.parse_location(file.file_path)
        name = f"{scheme}://{bucket}"
        if name not in self.opened:
            files = opened_files(self._table.io, file.file_path)
            self.opened[name] = files.fs_by_scheme(scheme, bucket)
        return StoredFile(file.file_path, name, place, file.file_size_in_bytes)


def delete_file(table: Table, file: DataFile, stored: StoredFile) -> DeleteFile:
    """A delete file as tasks are told of it."""
    from frazil.tables.reading.deleted import DeleteFile, Vector
    from frazil.tables.reading.schema import stored_type

    if is_vector(file):
        path, offset, size = (field_of(file, place) for place in (REFERENCED_FILE, OFFSET, SIZE))
        return DeleteFile(stored, vector=Vector(path, offset, size, file.record_count))
    return DeleteFile(
        stored, {str(own): stored_type(_type_of(table, own)) for own in file.equality_ids or ()}
    )


def constants_of(table: Table, file: DataFile) -> Iterator[tuple[str, pa.Scalar]]:
    """What a file's partition tells of columns that may not be in it."""
    import pyarrow as pa

    from frazil.tables.reading.schema import stored_type

    for place, own in enumerate(table.specs()[file.spec_id].fields):
        if str(own.transform) == "identity":
            value = file.partition[place]
            text = str(value) if isinstance(value, UUID) else value
            yield str(own.source_id), pa.scalar(text, stored_type(_type_of(table, own.source_id)))


def _type_of(table: Table, column: int) -> IcebergType:
    """The type of a column, which may be gone by now."""
    every = (table.schema(), *reversed(table.schemas().values()))
    return next(schema.find_type(column) for schema in every if column in schema.field_ids)


def names_of(properties: Mapping[str, str]) -> Names:
    """Ids of columns by their names, for files that have none."""
    return dict(_of_mapping(json.loads(properties.get(_MAPPING, "[]"))))


def _of_mapping(fields: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, tuple[int, Names]]]:
    for own in fields:
        if "field-id" in own:
            within = dict(_of_mapping(own.get("fields", ())))
            yield from ((name, (own["field-id"], within)) for name in own["names"])
