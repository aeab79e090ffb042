"""Snapshots of version 2, and of version 3 with the ids of their rows. Import it where it is used."""

from __future__ import annotations

import time
from typing import Any

from pyiceberg.manifest import ManifestContent, ManifestWriter
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table.metadata import TableMetadataV3
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import AddSnapshotUpdate, AssertRefSnapshotId, SetSnapshotRefUpdate
from pyiceberg.table.update.snapshot import _SnapshotProducer

from frazil.tables.format_v3.writing import FileList, FileManifest


class Producer(_SnapshotProducer[Any]):
    """Adds a snapshot to `main`."""

    def new_manifest_writer(self, spec: PartitionSpec) -> ManifestWriter:
        """Opens a manifest of data files."""
        return self.manifest(spec, ManifestContent.DATA)

    def manifest(self, spec: PartitionSpec, content: ManifestContent) -> ManifestWriter:
        """Opens a manifest of data files, or of delete files."""
        version = self._transaction.table_metadata.format_version
        if version == 1:
            return super().new_manifest_writer(spec)
        output = self.new_manifest_output()
        return FileManifest(
            version, content, spec, self.schema(), output, self.snapshot_id, self._compression
        )

    def _validate_concurrency(self) -> None:
        """Nothing: `tables.commits` stages each commit again on a newer head."""

    def _commit(self) -> Any:
        metadata = self._transaction.table_metadata
        if not isinstance(metadata, TableMetadataV3):
            return super()._commit()
        snapshot, branch = self._listed(metadata), str(self._target_branch)
        moved: Any = {"ref_name": branch, "type": "branch", "snapshot_id": snapshot.snapshot_id}
        head = AssertRefSnapshotId(ref=branch, snapshot_id=snapshot.parent_snapshot_id)
        return (AddSnapshotUpdate(snapshot=snapshot), SetSnapshotRefUpdate(**moved)), (head,)

    def _listed(self, metadata: TableMetadataV3) -> Snapshot:
        """The snapshot, with its manifests and their list written."""
        manifests, first = self._manifests(), metadata.next_row_id or 0
        name = f"snap-{self.snapshot_id}-0-{self.commit_uuid}.avro"
        location = self._transaction._table.location_provider().new_metadata_location(name)
        snapshot = Snapshot(
            snapshot_id=self.snapshot_id,
            parent_snapshot_id=self._parent_snapshot_id,
            sequence_number=metadata.next_sequence_number(),
            timestamp_ms=int(time.time() * 1000),
            manifest_list=location,
            summary=self._summary(self.snapshot_properties),
            schema_id=metadata.current_schema_id,
            first_row_id=first,
        )
        with FileList(self._io.new_output(location), snapshot, self._compression) as writer:
            writer.add_manifests(manifests)
        return snapshot.model_copy(update={"added_rows": writer.next_row_id - first})
