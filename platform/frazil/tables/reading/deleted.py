"""Rows of data files that delete files take away, left out by the tasks that read them.

A task imports PyArrow only. Which delete files apply to which data file is the driver's to say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from frazil.exact import values_of
from frazil.tables.format_v3.fields import PATH_OF_DELETES, PLACE_OF_DELETES
from frazil.tables.format_v3.vectors import places_in
from frazil.tables.reading.columns import Batch, FileReader, StoredFile
from frazil.tables.writing.conversion import IN_FILES, field_id, fitted

_PATH, _POSITION = str(PATH_OF_DELETES), str(PLACE_OF_DELETES)

Keys = Mapping[str, pa.DataType]
"""Columns whose values tell rows: their ids, with the types that the table has for them."""


@dataclass(frozen=True, slots=True)
class Vector:
    """Where a deletion vector stands in its file, and of which data file it is."""

    path: str
    offset: int
    bytes: int
    rows: int


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """A delete file that applies to data files.

    Args:
        keys: The columns whose values tell the rows that go; none: their places do.
        vector: The vector in the file that applies; None: the file has rows.
    """

    file: StoredFile
    keys: Keys = field(default_factory=dict)
    vector: Vector | None = None


def ids_wanted(schema: pa.Schema, deletes: Iterable[DeleteFile]) -> frozenset[str]:
    """Ids of the columns that are read of a data file: those of a schema, and what tells deleted rows."""
    return frozenset({*map(field_id, schema), *(key for each in deletes for key in each.keys)})


class DeletedRows:
    """Tells which rows of data files are deleted; each delete file is read once."""

    def __init__(self, reader: FileReader) -> None:
        self._reader = reader
        self._places: dict[tuple[str, Vector | None], dict[str, NDArray[np.int64]]] = {}
        self._values: dict[str, list[pa.Array]] = {}

    def left(
        self,
        batch: Batch,
        path: str,
        deletes: Iterable[DeleteFile],
        constants: Mapping[str, pa.Scalar],
        taking: Iterable[DeleteFile] | None = None,
    ) -> pa.RecordBatch:
        """The rows of a part of a data file that none of some delete files takes away.

        `taking`: only those of them that one of these takes.
        """
        stay = ~self._gone(batch, path, deletes, constants)
        if taking is not None:
            stay &= self._gone(batch, path, taking, constants)
        return batch.rows if stay.all() else batch.rows.filter(pa.array(stay))

    def _gone(
        self, batch: Batch, path: str, deletes: Iterable[DeleteFile], constants: Mapping[str, pa.Scalar]
    ) -> NDArray[np.bool_]:
        """For each row whether one of some delete files takes it away."""
        gone, by_keys = np.zeros(len(batch.rows), bool), defaultdict[tuple[str, ...], list[DeleteFile]](list)
        for each in deletes:
            if each.keys:
                by_keys[tuple(each.keys)].append(each)
            else:
                places = self.places(each, path) - batch.first
                gone[places[(places >= 0) & (places < len(gone))]] = True
        for files in by_keys.values():
            gone |= self._have(batch.rows, files, constants)
        return gone

    def places(self, deletes: DeleteFile, path: str) -> NDArray[np.int64]:
        """Where the rows of a data file stand that a delete file takes away; one by keys tells none.

        Raises:
            ValueError: It is a vector that is damaged, or has other rows than its manifest says.
        """
        key = deletes.file.path, deletes.vector
        if key not in self._places and not deletes.keys:
            self._places[key] = self._read(deletes)
        return self._places.get(key, {}).get(path, _NO_PLACES)

    def _read(self, deletes: DeleteFile) -> dict[str, NDArray[np.int64]]:
        """Places of deleted rows by the path of their data file."""
        if deletes.vector is None:
            batches = self._reader.batches(deletes.file, frozenset({_PATH, _POSITION}))
            return _by_path([b.rows for b in batches])
        own = deletes.vector
        positions = places_in(self._reader.bytes_at(deletes.file, own.offset, own.bytes))
        if len(positions) != own.rows:
            raise ValueError(f"a deletion vector has {len(positions)} rows, and its manifest says {own.rows}")
        return {own.path: positions}

    def _have(
        self, rows: pa.RecordBatch, files: Sequence[DeleteFile], constants: Mapping[str, pa.Scalar]
    ) -> NDArray[np.bool_]:
        """For each row whether its values are among those of some files with the same keys."""
        keys = files[0].keys
        own = [_values(rows, number, kind, constants) for number, kind in keys.items()]
        theirs = zip(*(self._keys(each) for each in files), strict=True)
        return among(own, [pa.concat_arrays(parts) for parts in theirs])

    def _keys(self, each: DeleteFile) -> list[pa.Array]:
        if each.file.path not in self._values:
            batches = [b.rows for b in self._reader.batches(each.file, frozenset(each.keys))]
            self._values[each.file.path] = [
                pa.concat_arrays([pa.array([], kind), *(_values(b, number, kind, {}) for b in batches)])
                for number, kind in each.keys.items()
            ]
        return self._values[each.file.path]


_NO_PLACES = np.zeros(0, np.int64)


def _by_path(batches: Sequence[pa.RecordBatch]) -> dict[str, NDArray[np.int64]]:
    by_path: dict[str, list[NDArray[np.int64]]] = defaultdict(list)
    for batch in batches:
        by_id = {field_id(own): batch.column(place) for place, own in enumerate(batch.schema)}
        known = by_id[_PATH].dictionary_encode()
        numbers, places = known.indices.to_numpy(), by_id[_POSITION].to_numpy()
        for number, path in enumerate(values_of(known.dictionary)):
            by_path[path].append(places[numbers == number])
    return {path: np.concatenate(parts) for path, parts in by_path.items()}


def among(own: Sequence[pa.Array], theirs: Sequence[pa.Array]) -> NDArray[np.bool_]:
    """For each row of some columns whether others have its values in one row; a missing one is a value.

    First by each column alone, which leaves few rows of most files.
    """
    each = (pc.is_in(a, value_set=b) for a, b in zip(own, theirs, strict=True))
    met: NDArray[np.bool_] = np.asarray(reduce(pc.and_, each).to_numpy(zero_copy_only=False))
    if len(own) > 1 and met.any():
        met[met] = _have(own, theirs, np.flatnonzero(met))
    return met


def _have(
    own: Sequence[pa.Array], theirs: Sequence[pa.Array], places: NDArray[np.int64]
) -> NDArray[np.bool_]:
    codes = np.zeros(len(places) + len(theirs[0]), np.int64)
    for a, b in zip(own, theirs, strict=True):
        known = pa.concat_arrays([a.take(pa.array(places)), b]).dictionary_encode(null_encoding="encode")
        codes = codes * len(known.dictionary) + known.indices.to_numpy()
        codes = np.unique(codes, return_inverse=True)[1]  # small again, whatever the columns hold
    deleted: NDArray[np.bool_] = np.isin(codes[: len(places)], codes[len(places) :])
    return deleted


def _values(
    rows: pa.RecordBatch, number: str, kind: pa.DataType, constants: Mapping[str, pa.Scalar]
) -> pa.Array:
    """The values of a column, at whatever depth, as the table has them."""
    for place, own in enumerate(rows.schema):
        if (array := _below(rows.column(place), own, number)) is not None:
            return fitted(array, kind, IN_FILES)
    constant = constants.get(number)
    return pa.nulls(len(rows), kind) if constant is None else fitted(pa.repeat(constant, len(rows)), kind)


def _below(column: pa.Array, own: pa.Field, number: str) -> pa.Array | None:
    if field_id(own) == number:
        return column
    parts = zip(column.flatten(), own.type, strict=True) if pa.types.is_struct(own.type) else ()
    return next((v for part, f in parts if (v := _below(part, f, number)) is not None), None)
