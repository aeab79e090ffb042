"""The ids of rows that move: columns which a data file has of rows that were in another one before.

https://iceberg.apache.org/spec/#row-lineage. A task imports PyArrow only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.tables.format_v3.fields import (
    FIRST_ROW_ID,
    LAST_UPDATED,
    LAST_UPDATED_COLUMN,
    NAMES,
    ROW_ID,
    ROW_ID_COLUMN,
    field_of,
    has_row_ids,
)
from frazil.tables.writing.conversion import ID, field_id

if TYPE_CHECKING:
    from pyiceberg.manifest import ManifestEntry
    from pyiceberg.table import Table

COLUMNS = tuple(pa.field(name, pa.int64(), True, {ID: str(number)}) for number, name in NAMES.items())
"""Behind the columns of the table; no schema of it names them."""

ENCODING = {ROW_ID_COLUMN: "DELTA_BINARY_PACKED"}
"""A million ids in order take 10 kB so, and else 1 MB."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a manifest says of a file's rows that the file itself may not say.

    Args:
        first_row_id: The id of its first row; None: none of its rows has an id yet.
        sequence: Sequence number of its data.
    """

    first_row_id: int | None
    sequence: int

    @classmethod
    def of(cls, entry: ManifestEntry) -> Origin:
        """The origin of the rows of a file that a head names."""
        return cls(field_of(entry.data_file, FIRST_ROW_ID), entry.sequence_number or 0)


def origins_of(table: Table, entries: Iterable[ManifestEntry]) -> dict[str, Origin]:
    """Where the rows of some files of a head have their ids from, by path; of a table without ids nothing."""
    return {e.data_file.file_path: Origin.of(e) for e in entries} if has_row_ids(table) else {}


def are_wanted(schema: pa.Schema) -> bool:
    """Whether row ids are among some columns."""
    return any(field_id(own) == str(ROW_ID) for own in schema)


def with_row_ids(rows: pa.RecordBatch, first: int, origin: Origin | None) -> pa.RecordBatch:
    """Rows of a file with their ids, and the sequence numbers of their last changes.

    Args:
        rows: As the file has them, of which none is left out.
        first: Place of the first one in the file.
        origin: None: the rows are new, and get ids from their commit.
    """
    own = {field_id(f): rows.column(place) for place, f in enumerate(rows.schema)}
    others = [place for place, f in enumerate(rows.schema) if field_id(f) not in _IDS]
    columns = [
        *(rows.column(place) for place in others),
        *_inherited(own.get(str(ROW_ID)), own.get(str(LAST_UPDATED)), len(rows), first, origin),
    ]
    return pa.RecordBatch.from_arrays(
        columns, schema=pa.schema([*(rows.schema.field(p) for p in others), *COLUMNS])
    )


_IDS = frozenset(map(str, NAMES))


def _inherited(
    ids: pa.Array | None, numbers: pa.Array | None, rows: int, first: int, origin: Origin | None
) -> tuple[pa.Array, pa.Array]:
    nothing = pa.nulls(rows, pa.int64())
    if origin is None or origin.first_row_id is None:
        return nothing, nothing
    begin = origin.first_row_id + first
    by_place = pa.array(np.arange(begin, begin + rows))
    of_commit = pa.repeat(pa.scalar(origin.sequence, pa.int64()), rows)
    return _or(ids, by_place), _or(numbers, of_commit)


def _or(values: pa.Array | None, otherwise: pa.Array) -> pa.Array:
    return otherwise if values is None else pc.coalesce(values, otherwise)


def changed(rows: pa.Table, ids: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Rows that were changed, with the ids that they keep, null of new ones. The commit says since when."""
    own = {ROW_ID_COLUMN: ids, LAST_UPDATED_COLUMN: pa.nulls(len(rows), pa.int64())}
    others = [name for name in rows.column_names if name not in own]
    columns = [*(rows[name] for name in others), *(own[field.name] for field in COLUMNS)]
    return pa.Table.from_arrays(
        columns, schema=pa.schema([*(rows.schema.field(n) for n in others), *COLUMNS])
    )


def padded(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """New rows in a schema with row ids: theirs come from the commit."""
    missing = [pa.nulls(len(rows), own.type) for own in schema][len(rows.columns) :]
    return pa.RecordBatch.from_arrays([*rows.columns, *missing], schema=schema)
