"""What the head of `main` holds, file by file, and which manifest names each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from frazil.tables.files import LiveFile, deletes_of, live_file

if TYPE_CHECKING:
    from pyiceberg.io import FileIO
    from pyiceberg.manifest import ManifestEntry, ManifestFile
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

__all__ = ["Entries", "HeadReader", "Held", "names_live", "read_entries"]

Entries = tuple["ManifestEntry", ...]


@dataclass(frozen=True)
class Held:
    """The head of `main`.

    Args:
        head: The snapshot.
        manifests: Its manifests that name live files.
        named: Live entries of each data manifest, by the manifest's path.
        files: The same files, in the words of the census.
        layout: Id of the partition spec that new files have.
    """

    head: Snapshot
    manifests: tuple[ManifestFile, ...]
    named: Mapping[str, Entries]
    files: tuple[LiveFile, ...]
    layout: int

    @property
    def entries(self) -> dict[str, ManifestEntry]:
        """By the path of the data file."""
        return {e.data_file.file_path: e for entries in self.named.values() for e in entries}

    @property
    def deletes(self) -> frozenset[str]:
        """Paths of the manifests that name delete files."""
        return frozenset(m.manifest_path for m in self.manifests) - self.named.keys()

    @property
    def bytes(self) -> int:
        """Of all data files."""
        return sum(f.bytes for f in self.files)


class HeadReader:
    """Reads one table's heads, one after the other, and each manifest once: they never change."""

    def __init__(self) -> None:
        self._known: dict[str, Entries] = {}

    def read(self, table: Table) -> Held | None:
        """What the head holds; None where there is no head."""
        from pyiceberg.manifest import ManifestContent

        head = table.current_snapshot()
        if head is None:
            return None
        manifests = tuple(m for m in head.manifests(table.io) if names_live(m))
        entries = {
            m.manifest_path: e for m, e in zip(manifests, self._read(table.io, manifests), strict=True)
        }
        data = [m.manifest_path for m in manifests if m.content == ManifestContent.DATA]
        gone = [e for path in entries.keys() - set(data) for e in entries[path]]
        deleted = deletes_of(gone)[1]
        named = {path: entries[path] for path in data}
        files = tuple(live_file(e, deleted) for e in chain(*named.values()))
        return Held(head, manifests, named, files, table.spec().spec_id)

    def _read(self, io: FileIO, manifests: Iterable[ManifestFile]) -> list[Entries]:
        new = [m for m in manifests if m.manifest_path not in self._known]
        for manifest, entries in zip(new, read_entries(io, new), strict=True):
            self._known[manifest.manifest_path] = entries
        return [self._known[m.manifest_path] for m in manifests]


def read_entries(io: FileIO, manifests: Iterable[ManifestFile]) -> list[Entries]:
    """The live entries of some manifests, read side by side."""
    from pyiceberg.utils.concurrent import ExecutorFactory

    def read(manifest: ManifestFile) -> Entries:
        return tuple(manifest.fetch_manifest_entry(io))

    return list(ExecutorFactory.get_or_create().map(read, manifests))


def names_live(manifest: ManifestFile) -> bool:
    """Whether it names files that are there, and not only some that were removed."""
    return manifest.has_added_files() or manifest.has_existing_files()
