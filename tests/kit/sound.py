"""Whether a table is whole: for its readers, whoever they are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from pyiceberg.table import Table

__all__ = ["refusals_of_java", "unreadable"]

_MINUTE = 60_000
"""Milliseconds that a clock may be behind (TableMetadata.ONE_MINUTE in Iceberg's Java; Rust and Go alike)."""


def unreadable(table: Table) -> list[str]:
    """Files that a branch of the table names, and that can't be read, with why."""
    return [f"{ref}: {wrong}" for ref in table.metadata.refs for wrong in _of_ref(table, ref)]


def _of_ref(table: Table, ref: str) -> Iterator[str]:
    snapshot = table.metadata.snapshot_by_id(table.metadata.refs[ref].snapshot_id)
    if snapshot is None:
        yield "its snapshot is not in the metadata"
        return
    try:
        manifests = snapshot.manifests(table.io)
    except OSError as e:
        yield f"manifest list {snapshot.manifest_list}: {e!r}"
        return
    for manifest in manifests:
        try:
            entries = manifest.fetch_manifest_entry(table.io)
        except OSError as e:
            yield f"manifest {manifest.manifest_path}: {e!r}"
            continue
        for path in (e.data_file.file_path for e in entries):
            if not table.io.new_input(path).exists():
                yield f"data file {path} is not there"


def refusals_of_java(table: Table) -> list[str]:
    """What Iceberg's Java reader says against the metadata's clocks (org.apache.iceberg.TableMetadata)."""
    metadata, found = table.metadata, []
    history = [entry.timestamp_ms for entry in metadata.snapshot_log]
    log = [entry.timestamp_ms for entry in metadata.metadata_log]
    if any(later - earlier < -_MINUTE for earlier, later in pairwise(history)):
        found.append("[BUG] Expected sorted snapshot log entries.")
    if history and metadata.last_updated_ms - history[-1] < -_MINUTE:
        found.append("Invalid update timestamp: before last snapshot log entry")
    if any(later - earlier < -_MINUTE for earlier, later in pairwise(log)):
        found.append("[BUG] Expected sorted previous metadata log entries.")
    if log and metadata.last_updated_ms - log[-1] < -_MINUTE:
        found.append("Invalid update timestamp: before the latest metadata log entry timestamp")
    return found
