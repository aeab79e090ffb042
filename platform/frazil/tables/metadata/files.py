"""Data files and delete files, as the manifest that names them describes them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil.tables.format_v3.fields import PATH_OF_DELETES, REFERENCED_FILE, bytes_of, field_of

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile, ManifestEntry

_STATISTICS = range(6, 12)
"""Places in a `DataFile`: sizes, counts and bounds of columns."""


LARGEST = 2**62
"""Bytes of a file that is not cut."""


@dataclass(frozen=True, slots=True)
class LiveFile:
    """One data file."""

    path: str
    bytes: int
    records: int  # rows in it, deleted ones too
    partition: tuple[Any, ...] = ()
    spec_id: int = 0
    sequence: int = 0  # sequence number of the commit that brought the file
    deleted: int = 0  # rows that deletes by position take away, about
    deletes: int = 0  # delete files that a reader must open for it
    snapshot_id: int | None = None  # the snapshot that brought the file; None where it is not known

    @property
    def deleted_share(self) -> float:
        """Deleted rows per row."""
        return min(self.deleted, self.records) / self.records if self.records else 0.0


@dataclass(frozen=True, slots=True)
class Deletes:
    """The delete files of a snapshot."""

    files: int = 0
    bytes: int = 0
    rows: int = 0  # rows that those by position take away
    equality: int = 0  # files whose deleted rows are not known without reading


def leaner(entry: ManifestEntry, columns: Collection[int]) -> ManifestEntry:
    """The entry, from now on with the statistics of these columns only."""
    file = entry.data_file
    kept = {PATH_OF_DELETES, *columns}
    for place in _STATISTICS:
        if known := file[place]:
            file[place] = {column: known[column] for column in kept if column in known} or None
    return entry


def live_file(entry: ManifestEntry, deletes: int = 0, deleted: int = 0) -> LiveFile:
    """One data file, the delete files that apply to it, and the rows that they take away."""
    file = entry.data_file
    return LiveFile(
        path=file.file_path,
        bytes=file.file_size_in_bytes,
        records=file.record_count,
        partition=tuple(_same(file.partition[i]) for i in range(len(file.partition))),
        spec_id=file.spec_id,
        sequence=entry.file_sequence_number or 0,
        deleted=deleted,
        deletes=deletes,
        snapshot_id=entry.snapshot_id,
    )


def _same(value: Any) -> Any:
    """One object for NaN, which is no key otherwise: it equals no other NaN."""
    return math.nan if isinstance(value, float) and math.isnan(value) else value


def deletes_of(entries: Iterable[ManifestEntry]) -> Deletes:
    """The delete files in numbers."""
    from pyiceberg.manifest import DataFileContent

    files = [entry.data_file for entry in entries]
    by_position = [f for f in files if f.content == DataFileContent.POSITION_DELETES]
    size, rows = sum(map(bytes_of, files)), sum(f.record_count for f in by_position)
    return Deletes(len(files), size, rows, equality=len(files) - len(by_position))


def delete_bounds(file: DataFile) -> tuple[bytes | None, bytes | None]:
    """The least and the greatest path of the data files from which a position delete file takes rows."""
    if path := field_of(file, REFERENCED_FILE):
        return path.encode(), path.encode()
    lower, upper = ((bounds or {}).get(PATH_OF_DELETES) for bounds in (file.lower_bounds, file.upper_bounds))
    return lower, upper
