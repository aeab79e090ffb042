"""The live files of a table's head, as its manifests tell them. No data file is opened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile, ManifestEntry, ManifestFile
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

__all__ = [
    "SMALL_MANIFEST",
    "Bound",
    "Deletes",
    "LiveFile",
    "LiveFiles",
    "deletes_of",
    "live_file",
    "live_files",
]

Bound = bytes
"""A lower bound as Iceberg writes it."""

SMALL_MANIFEST = 4 * 2**20
"""Half of the size that Iceberg aims at."""

_FILE_PATH = 2147483546
"""Field id of a position delete's file_path; bounds that agree say that it is of one data file."""


@dataclass(frozen=True, slots=True)
class LiveFile:
    """One data file.

    Args:
        path: Where it is.
        bytes: Its size.
        records: Rows in it, deleted ones too.
        partition: Values of its partition fields.
        spec_id: The partition spec that they belong to.
        sequence: Sequence number of the commit that brought the file.
        deleted: Rows that delete files of this data file alone take away.
        lower: Lower bound of the column asked for; None where it is not known.
        snapshot_id: The snapshot that brought the file; None where it is not known.
    """

    path: str
    bytes: int
    records: int
    partition: tuple[Any, ...] = ()
    spec_id: int = 0
    sequence: int = 0
    deleted: int = 0
    lower: Bound | None = None
    snapshot_id: int | None = None

    @property
    def deleted_share(self) -> float:
        """Deleted rows per row."""
        return min(self.deleted, self.records) / self.records if self.records else 0.0


@dataclass(frozen=True, slots=True)
class Deletes:
    """The delete files: how many, how big, and how many rows they take away.

    `equality` counts files whose deleted rows are not known without reading.
    """

    files: int = 0
    bytes: int = 0
    rows: int = 0
    equality: int = 0


@dataclass(frozen=True, slots=True)
class LiveFiles:
    """All files of one snapshot, and the manifests that name them.

    `small_manifests` counts those of data files that would better be put together.
    """

    data: tuple[LiveFile, ...] = ()
    deletes: Deletes = Deletes()
    manifests: int = 0
    manifest_bytes: int = 0
    small_manifests: int = 0


def live_files(table: Table, snapshot: Snapshot | None, column: int | None = None) -> LiveFiles:
    """Reads the manifests of a snapshot; none gives no files.

    Args:
        table: The table.
        snapshot: Usually its head.
        column: Field id of the column whose lower bounds are wanted.
    """
    from pyiceberg.manifest import ManifestContent

    manifests = snapshot.manifests(table.io) if snapshot else ()
    deletes = [m for m in manifests if m.content == ManifestContent.DELETES]
    told, by_path = deletes_of(_entries(table, deletes))
    data = [m for m in manifests if m.content == ManifestContent.DATA]
    return LiveFiles(
        data=tuple(live_file(entry, by_path, column) for entry in _entries(table, data)),
        deletes=told,
        manifests=len(manifests),
        manifest_bytes=sum(m.manifest_length for m in manifests),
        small_manifests=sum(m.manifest_length < SMALL_MANIFEST for m in data),
    )


def _entries(table: Table, manifests: list[ManifestFile]) -> list[ManifestEntry]:
    from pyiceberg.utils.concurrent import ExecutorFactory

    read = ExecutorFactory.get_or_create().map(lambda m: m.fetch_manifest_entry(table.io), manifests)
    return [entry for entries in read for entry in entries]


def deletes_of(entries: list[ManifestEntry]) -> tuple[Deletes, Mapping[str, int]]:
    """The delete files, and how many rows they take from data files that they name."""
    from pyiceberg.manifest import DataFileContent

    by_path: Counter[str] = Counter()
    rows = equality = 0
    for file in (entry.data_file for entry in entries):
        if file.content == DataFileContent.EQUALITY_DELETES:
            equality += 1
            continue
        rows += file.record_count
        if path := _only_file(file):
            by_path[path] += file.record_count
    held = sum(entry.data_file.file_size_in_bytes for entry in entries)
    return Deletes(len(entries), held, rows, equality), by_path


def _only_file(deletes: DataFile) -> str | None:
    """The one data file that a position delete file speaks of, if it is one (as ContentFileUtil tells)."""
    lower = (deletes.lower_bounds or {}).get(_FILE_PATH)
    upper = (deletes.upper_bounds or {}).get(_FILE_PATH)
    return lower.decode() if lower is not None and lower == upper else None


def live_file(entry: ManifestEntry, deleted: Mapping[str, int], column: int | None = None) -> LiveFile:
    """One data file; `deleted` as `deletes_of` tells it."""
    file = entry.data_file
    bounds = (file.lower_bounds or {}) if column is not None else {}
    return LiveFile(
        path=file.file_path,
        bytes=file.file_size_in_bytes,
        records=file.record_count,
        partition=tuple(file.partition[i] for i in range(len(file.partition))),
        spec_id=file.spec_id,
        sequence=entry.file_sequence_number or 0,
        deleted=deleted.get(file.file_path, 0),
        lower=bounds.get(column) if column is not None else None,
        snapshot_id=entry.snapshot_id,
    )
