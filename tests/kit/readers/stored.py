"""What a table takes up in storage, against what its newest snapshot needs."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from urllib.parse import urlsplit

from pyarrow.fs import FileSelector, FileType
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table import Table

from frazil.tables.catalogs.file_io import opened_files


@dataclass(frozen=True, slots=True)
class Stored:
    """Of one table, as it is now.

    Args:
        live_files: Data files of the newest snapshot.
        live_bytes: Their bytes.
        data_bytes: Bytes of all files under the table's data folder.
        metadata_bytes: Likewise of its metadata folder.
        metadata_files: How many metadata.json there are.
        manifests: How many manifests the newest snapshot has.
        snapshots: How many the table knows.
    """

    live_files: int
    live_bytes: int
    data_bytes: int
    metadata_bytes: int
    metadata_files: int
    manifests: int
    snapshots: int

    @property
    def ratio(self) -> float:
        """Bytes of all data files against the live ones; metadata does not grow with the rows."""
        return self.data_bytes / self.live_bytes


def files_under(table: Table) -> dict[str, int]:
    """All files under the table's location, and their sizes."""
    scheme, netloc, path = PyArrowFileIO.parse_location(table.location())
    system = opened_files(table.io, table.location()).fs_by_scheme(scheme, netloc)
    infos = system.get_file_info(FileSelector(path, recursive=True, allow_not_found=True))
    return {f"{scheme}://{info.path}": info.size for info in infos if info.type == FileType.File}


def place_of(path: str) -> str:
    """Bucket and key of a file, however its address is spelled: s3 or s3a, one slash or two."""
    url = urlsplit(path)
    return posixpath.normpath(f"{url.netloc}/{url.path}")


def stored(table: Table) -> Stored:
    """Measures a table that was just loaded."""
    files = files_under(table)
    data = sum(size for path, size in files.items() if "/data/" in path)
    live = [task.file.file_size_in_bytes for task in table.scan().plan_files()]
    head = table.current_snapshot()
    return Stored(
        live_files=len(live),
        live_bytes=sum(live),
        data_bytes=data,
        metadata_bytes=sum(files.values()) - data,
        metadata_files=sum(path.endswith(".metadata.json") for path in files),
        manifests=len(head.manifests(table.io)) if head else 0,
        snapshots=len(table.metadata.snapshots),
    )
