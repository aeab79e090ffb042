"""Deletion vectors of data files that stay: tasks write them, and manifests name them.

A task imports PyArrow and pyroaring only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from frazil.tables.format_v3.fields import (
    OFFSET,
    PATH_OF_DELETES,
    REFERENCED_FILE,
    SIZE,
    missing_fields,
)
from frazil.tables.format_v3.vectors import OFFSET_IN_FILE, puffin_of, vector_of
from frazil.tables.reading.columns import place_in_store
from frazil.tables.writing.parquet import FileLayout
from frazil.tables.writing.transfer import OldFile, deleted_places

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyiceberg.manifest import DataFile


@dataclass(frozen=True, slots=True)
class WrittenVector:
    """A vector as the one who wrote it saw it.

    Args:
        of: Path of the data file.
        path: Of its own file.
        size: Bytes of its own file.
        length: Bytes of the vector.
        rows: Of the data file that are deleted, earlier ones among them.
    """

    of: str
    path: str
    size: int
    length: int
    rows: int


def write_vector(layout: FileLayout, name: str, file: OldFile, gone: NDArray[np.int64]) -> WrittenVector:
    """Writes which rows of a file are deleted from now on.

    Args:
        name: Begins the name of its file, and nobody else's. It has no ending: a table bucket of SeaweedFS
            takes no file that is called .puffin.
        gone: Places of rows that go, among those that are not deleted yet.
    """
    is_left = np.ones(file.rows, bool)
    is_left[deleted_places(layout, file)] = False
    is_left[np.flatnonzero(is_left)[gone]] = False
    places = np.flatnonzero(~is_left)
    vector, path = vector_of(places), f"{layout.location}/{name}-deletes"
    content = puffin_of(vector, file.path, len(places))
    with layout.store.open_output_stream(place_in_store(path)) as out:
        out.write(content)
    return WrittenVector(file.path, path, len(content), len(vector), len(places))


def vector_entry(written: WrittenVector, of: DataFile) -> DataFile:
    """A vector as manifests describe it.

    Its data file's path is its bounds, too: PyIceberg and Polars know no field 143, and would give each
    vector to all data files of the partition.
    """
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat

    path = written.of.encode()
    plain = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES,
        file_path=written.path,
        file_format=FileFormat.PUFFIN,
        partition=of.partition,
        record_count=written.rows,
        file_size_in_bytes=written.size,
        lower_bounds={PATH_OF_DELETES: path},
        upper_bounds={PATH_OF_DELETES: path},
        sort_order_id=None,
        equality_ids=None,
        key_metadata=None,
    )
    file = DataFile(*(plain[n] for n in range(len(plain))), *[None] * missing_fields(plain))
    file[REFERENCED_FILE], file[OFFSET], file[SIZE] = written.of, OFFSET_IN_FILE, written.length
    file.spec_id = of.spec_id
    return file
