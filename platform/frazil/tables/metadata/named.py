"""What snapshots name: manifests, and the files in these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from frazil.tables.catalogs.catalog import is_gone
from frazil.tables.catalogs.pyiceberg import live_entries

if TYPE_CHECKING:
    from pyiceberg.io import FileIO
    from pyiceberg.manifest import DataFileContent, ManifestFile
    from pyiceberg.table.snapshots import Snapshot


_T = TypeVar("_T")
_V = TypeVar("_V")


def manifests_named(
    io: FileIO, snapshots: Iterable[Snapshot], *, may_miss: bool = False
) -> dict[str, ManifestFile]:
    """The manifests that some snapshots name, each once, by path.

    Raises FileNotFoundError where a file is gone, unless it `may_miss`: then the file counts as empty.
    """

    def read(snapshot: Snapshot) -> dict[str, ManifestFile]:
        return {manifest.manifest_path: manifest for manifest in snapshot.manifests(io)}

    return _merged(read, snapshots, may_miss)


def content_named(
    io: FileIO, manifests: Iterable[ManifestFile], *, may_miss: bool = False
) -> dict[str, DataFileContent]:
    """The data and delete files that some manifests name as live, by path; see `manifests_named`."""

    def read(manifest: ManifestFile) -> dict[str, DataFileContent]:
        return {e.data_file.file_path: e.data_file.content for e in live_entries(io, manifest)}

    return _merged(read, manifests, may_miss)


def _merged(read: Callable[[_T], dict[str, _V]], files: Iterable[_T], may_miss: bool) -> dict[str, _V]:
    def read_one(file: _T) -> dict[str, _V]:
        try:
            return read(file)
        except OSError as e:
            if not is_gone(e):
                raise
            if may_miss:
                return {}
            raise FileNotFoundError(str(e)) from e

    merged: dict[str, _V] = {}
    for each in side_by_side(read_one, files):
        merged.update(each)
    return merged


def side_by_side(read: Callable[[_T], _V], files: Iterable[_T]) -> Iterator[_V]:
    """What is read of each file, in their order; several are read at once."""
    from pyiceberg.utils.concurrent import ExecutorFactory

    return ExecutorFactory.get_or_create().map(read, files)
