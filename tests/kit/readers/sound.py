"""Whether a table is whole: for its readers, whoever they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

from pyiceberg.manifest import ManifestContent, ManifestFile
from pyiceberg.table import Table

from kit.readers.stored import files_under, place_of

__all__ = ["Looks", "refusals_of_java", "unreadable"]

_MINUTE = 60_000
"""Milliseconds that a clock may be behind (TableMetadata.ONE_MINUTE in Iceberg's Java; Rust and Go alike)."""


class Looks:
    """Looks at tables again and again: a manifest never changes, so each is read once.

    What was read before must still be there, as all data files must: one list of a table's storage tells.
    """

    def __init__(self) -> None:
        self._named: dict[str, list[Any]] = {}
        self._stored: set[str] = set()

    def unreadable(self, table: Table) -> list[str]:
        """Files that a branch of the table names, and that can't be read, with why."""
        self._stored = {place_of(path) for path in files_under(table)}
        return [f"{ref}: {wrong}" for ref in table.metadata.refs for wrong in self._of_ref(table, ref)]

    def files(self, table: Table) -> list[str]:
        """Data files that the head of `main` names; none of delete files may be among them."""
        snapshot = table.current_snapshot()
        if snapshot is None:
            return []
        manifests = self._once(snapshot.manifest_list, partial(snapshot.manifests, table.io))
        assert all(manifest.content == ManifestContent.DATA for manifest in manifests)
        named = (self._once(m.manifest_path, partial(_files_of, m, table)) for m in manifests)
        return [path for paths in named for path in paths]

    def _of_ref(self, table: Table, ref: str) -> Iterator[str]:
        snapshot = table.metadata.snapshot_by_id(table.metadata.refs[ref].snapshot_id)
        if snapshot is None:
            yield "its snapshot is not in the metadata"
            return
        try:
            manifests = self._read(snapshot.manifest_list, partial(snapshot.manifests, table.io))
        except OSError as e:
            yield f"manifest list {snapshot.manifest_list}: {e!r}"
            return
        for manifest in manifests:
            try:
                paths = self._read(manifest.manifest_path, partial(_files_of, manifest, table))
            except OSError as e:
                yield f"manifest {manifest.manifest_path}: {e!r}"
                continue
            yield from (f"data file {path} is not there" for path in paths if not self._is_there(path))

    def _read(self, path: str, read: Callable[[], Any]) -> list[Any]:
        if path in self._named and not self._is_there(path):
            raise FileNotFoundError(path)
        return self._once(path, read)

    def _once(self, path: str, read: Callable[[], Any]) -> list[Any]:
        if path not in self._named:
            self._named[path] = list(read())
        return self._named[path]

    def _is_there(self, path: str) -> bool:
        return place_of(path) in self._stored


def unreadable(table: Table) -> list[str]:
    """The same, for one look."""
    return Looks().unreadable(table)


def _files_of(manifest: ManifestFile, table: Table) -> list[str]:
    return [entry.data_file.file_path for entry in manifest.fetch_manifest_entry(table.io)]


def refusals_of_java(table: Table) -> list[str]:
    """What Iceberg's Java reader says against the metadata's clocks (org.apache.iceberg.TableMetadata)."""
    metadata, refusals = table.metadata, []
    history = [entry.timestamp_ms for entry in metadata.snapshot_log]
    log = [entry.timestamp_ms for entry in metadata.metadata_log]
    if any(later - earlier < -_MINUTE for earlier, later in pairwise(history)):
        refusals.append("[BUG] Expected sorted snapshot log entries.")
    if history and metadata.last_updated_ms - history[-1] < -_MINUTE:
        refusals.append("Invalid update timestamp: before last snapshot log entry")
    if any(later - earlier < -_MINUTE for earlier, later in pairwise(log)):
        refusals.append("[BUG] Expected sorted previous metadata log entries.")
    if log and metadata.last_updated_ms - log[-1] < -_MINUTE:
        refusals.append("Invalid update timestamp: before the latest metadata log entry timestamp")
    return refusals
