"""Writes what PyIceberg can't: a snapshot that deletes by equality, as Flink's upserts do."""

from __future__ import annotations

from pyiceberg.io import load_file_io
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    write_manifest_list,
)
from pyiceberg.serializers import ToOutputFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update import AddSnapshotUpdate, SetSnapshotRefUpdate, update_table_metadata
from pyiceberg.typedef import Record

from frazil.tables.format_v3.writing import FileManifest


def with_equality_delete(table: Table) -> str:
    """Writes metadata whose current snapshot deletes by equality, as Flink's upserts do."""
    io = load_file_io(table.io.properties, table.metadata_location)
    head = table.metadata.current_snapshot()
    assert head is not None
    snapshot_id, root = head.snapshot_id + 1, f"{table.location()}/metadata/{head.snapshot_id}"
    deletes = DataFile.from_args(
        content=DataFileContent.EQUALITY_DELETES,
        file_path=f"{root}-deletes.parquet",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=1,
        file_size_in_bytes=1,
        equality_ids=[1],
    )
    entry = ManifestEntry.from_args(
        status=ManifestEntryStatus.ADDED, snapshot_id=snapshot_id, data_file=deletes
    )
    output = io.new_output(f"{root}-deletes.avro")
    deleting = (2, ManifestContent.DELETES, table.spec(), table.schema(), output, snapshot_id, "null")
    writer = FileManifest(*deleting)
    with writer:
        writer.add_entry(entry)
    listing = io.new_output(f"{root}-list.avro")
    number = table.metadata.last_sequence_number + 1
    with write_manifest_list(2, listing, snapshot_id, head.snapshot_id, number, "null") as listed:
        listed.add_manifests([*head.manifests(io), writer.to_manifest_file()])
    snapshot = Snapshot(
        snapshot_id=snapshot_id,
        parent_snapshot_id=head.snapshot_id,
        sequence_number=number,
        timestamp_ms=table.metadata.last_updated_ms + 1,
        manifest_list=listing.location,
        summary=Summary(Operation.DELETE),
        schema_id=table.metadata.current_schema_id,
    )
    updates = (
        AddSnapshotUpdate(snapshot=snapshot),
        SetSnapshotRefUpdate(ref_name="main", type="branch", snapshot_id=snapshot_id),
    )
    metadata = update_table_metadata(table.metadata, updates)
    location = f"{root}-equality.metadata.json"
    ToOutputFile.table_metadata(metadata, io.new_output(location))
    return location
