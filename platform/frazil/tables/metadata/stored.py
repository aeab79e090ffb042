"""Files as storage lists them, whether a table names them or not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.tables.catalogs.file_io import opened_files

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo
    from pyiceberg.io import FileIO

METADATA = ".metadata.json"
"""How the names of metadata files end, those that are compressed too: `.gz.metadata.json`."""


_NUMBER = re.compile(r"(?:v|0*)(\d+)")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file in storage, its path spelled as the location is; `modified`: seconds since the epoch."""

    path: str
    bytes: int
    modified: float


def number_of(path: str) -> int:
    """The number that a metadata file has in its name; -1, if it has none."""
    number = _NUMBER.match(path.rpartition("/")[2])
    return int(number[1]) if number else -1


def list_below(io: FileIO, location: str, folder: str = "") -> Iterator[StoredFile]:
    """All files below a location, or a folder of it; none where there is no such place."""
    from pyarrow.fs import FileType

    for path, info in _listed(io, location, folder, recursive=True):
        if info.type == FileType.File:
            yield StoredFile(path, info.size or 0, info.mtime.timestamp())


def folders_in(io: FileIO, location: str) -> Iterator[str]:
    """The folders that lie in a location, by one listing."""
    from pyarrow.fs import FileType

    for path, info in _listed(io, location, "", recursive=False):
        if info.type == FileType.Directory:
            yield path


def _listed(io: FileIO, location: str, folder: str, *, recursive: bool) -> Iterator[tuple[str, FileInfo]]:
    from pyarrow.fs import FileSelector
    from pyiceberg.io.pyarrow import PyArrowFileIO

    location = location.rstrip("/")
    scheme, netloc, root = PyArrowFileIO.parse_location(location, io.properties)
    storage = opened_files(io, location).fs_by_scheme(scheme, netloc)
    selector = FileSelector(f"{root}/{folder}".rstrip("/"), recursive=recursive, allow_not_found=True)
    for info in storage.get_file_info(selector):
        yield location + info.path[len(root) :], info
