"""Snapshots made of chosen data files, in PyIceberg's terms. Import it where it is used: it loads PyIceberg.

PyIceberg's own `overwrite` finds files of partitioned tables again by a filter over their partitions, and
reads every manifest twice; here it is known which manifests name the files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pyiceberg.manifest import DataFile, ManifestContent, ManifestEntry, ManifestEntryStatus, ManifestFile
from pyiceberg.table import Table, Transaction
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update.snapshot import _SnapshotProducer

__all__ = ["Narrow", "Swap"]


class Swap(_SnapshotProducer[Any]):
    """A snapshot on `main` with some files less, and others instead.

    Args:
        tx: The transaction that it is part of.
        said: Properties of its summary.
        removed: The files that go, of the table's head.
        touched: Paths of the manifests that name them.
        added: The files that come.
    """

    def __init__(
        self,
        tx: Transaction,
        said: Mapping[str, str],
        removed: Iterable[ManifestEntry],
        touched: frozenset[str],
        added: Iterable[DataFile],
    ) -> None:
        files = tuple(added)
        operation = Operation.OVERWRITE if files else Operation.DELETE
        super().__init__(operation, tx, tx._table.io, snapshot_properties=dict(said))
        self._removed = tuple(removed)
        self._touched = touched
        for file in files:
            self.append_data_file(file)
        for entry in self._removed:
            self.delete_data_file(entry.data_file)

    def _build_delete_files_partition_predicate(self) -> None:
        """Not needed: the manifests are known."""

    def _deleted_entries(self) -> list[ManifestEntry]:
        return [_gone(entry, self._snapshot_id) for entry in self._removed]

    def _existing_manifests(self) -> list[ManifestFile]:
        return list(self._kept())

    def _kept(self) -> Iterator[ManifestFile]:
        for manifest in _manifests(self._transaction._table):
            if manifest.manifest_path not in self._touched:
                yield manifest
                continue
            entries = manifest.fetch_manifest_entry(self._io)
            if kept := [e for e in entries if e.data_file not in self._deleted_data_files]:
                yield _written(self, manifest.partition_spec_id, kept)


class Narrow(_SnapshotProducer[Any]):
    """A snapshot on a new branch that holds some files of `main`, and what deletes rows in them.

    Args:
        tx: The transaction that it is part of.
        branch: The branch; it must not be there yet.
        said: Properties of its summary.
        entries: The files, of the table's head.
    """

    def __init__(
        self, tx: Transaction, branch: str, said: Mapping[str, str], entries: Iterable[ManifestEntry]
    ) -> None:
        io = tx._table.io
        super().__init__(Operation.OVERWRITE, tx, io, snapshot_properties=dict(said), branch=branch)
        self._groups: defaultdict[int, list[ManifestEntry]] = defaultdict(list)
        for entry in entries:
            self._groups[entry.data_file.spec_id].append(entry)

    def _deleted_entries(self) -> list[ManifestEntry]:
        return []

    def _existing_manifests(self) -> list[ManifestFile]:
        deletes = [m for m in _manifests(self._transaction._table) if m.content == ManifestContent.DELETES]
        return [*(_written(self, spec_id, group) for spec_id, group in self._groups.items()), *deletes]


def _manifests(table: Table) -> list[ManifestFile]:
    head = table.current_snapshot()
    return head.manifests(table.io) if head else []


def _written(
    producer: _SnapshotProducer[Any], spec_id: int, entries: Iterable[ManifestEntry]
) -> ManifestFile:
    with producer.new_manifest_writer(producer.spec(spec_id)) as writer:
        for entry in entries:
            writer.existing(entry)
    return writer.to_manifest_file()


def _gone(entry: ManifestEntry, snapshot_id: int) -> ManifestEntry:
    return ManifestEntry.from_args(
        status=ManifestEntryStatus.DELETED,
        snapshot_id=snapshot_id,
        sequence_number=entry.sequence_number,
        file_sequence_number=entry.file_sequence_number,
        data_file=entry.data_file,
    )
