"""What lies in the storage under a table's location, whether a snapshot names it or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyiceberg.table import Table

__all__ = ["StoredFile", "list_files"]

_FOLDERS = ("data", "metadata")
"""Where Iceberg writes. What else lies there is somebody's own, perhaps another table."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file.

    Args:
        path: Spelled as the table's location is.
        bytes: Its size.
        modified: When it was written, in seconds since the epoch.
    """

    path: str
    bytes: int
    modified: float


def list_files(table: Table) -> Iterator[StoredFile]:
    """All files in the table's own folders."""
    from pyarrow.fs import FileSelector, FileType
    from pyiceberg.io.pyarrow import PyArrowFileIO

    location = table.location().rstrip("/")
    scheme, netloc, root = PyArrowFileIO.parse_location(location, table.io.properties)
    storage = PyArrowFileIO(table.io.properties).fs_by_scheme(scheme, netloc)
    for folder in _FOLDERS:
        selector = FileSelector(f"{root}/{folder}", recursive=True, allow_not_found=True)
        for info in storage.get_file_info(selector):
            if info.type == FileType.File:
                path = location + info.path[len(root) :]
                yield StoredFile(path, info.size or 0, info.mtime.timestamp())
