"""The one producer of snapshots that only add files. Import it where it is used: it loads PyIceberg."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyiceberg.manifest import DataFile, ManifestEntry, ManifestFile
from pyiceberg.table import Transaction
from pyiceberg.table.snapshots import Operation

from frazil.tables.format_v3.producer import Producer
from frazil.tables.metadata.manifests import manifests_of


def stage_files(tx: Transaction, files: Iterable[DataFile], says: Mapping[str, str]) -> int:
    """Adds a snapshot with more files, or with none, to a transaction; returns its id."""
    append = _Append(Operation.APPEND, tx, tx._table.io, snapshot_properties=dict(says))
    for file in files:
        append.append_data_file(file)
    append.commit()
    return append.snapshot_id


class _Append(Producer):
    def _existing_manifests(self) -> list[ManifestFile]:
        parent = self._parent_snapshot_id
        head = self._transaction.table_metadata.snapshot_by_id(parent) if parent else None
        return list(manifests_of(self._transaction._table, head))

    def _deleted_entries(self) -> list[ManifestEntry]:
        return []
