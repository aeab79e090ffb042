"""What the manifests of one table say about work that may be due."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.landing.columns import metadata_columns
from frazil.spec import TableSpec
from frazil.upkeep.census import group_files
from frazil.upkeep.facts import Facts
from frazil.upkeep.files import LiveFile, live_files
from frazil.upkeep.gain import Gain, Rule, gain_of

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table

__all__ = ["Found", "look_into"]


@dataclass(frozen=True, slots=True)
class Found:
    """What a look into the manifests found.

    Args:
        head: Snapshot that was looked at.
        at: When, in seconds since the epoch.
        files: Data files.
        small_files: Those below the size that they should have.
        waiting: Bytes of small files that wait for a compaction; what the last one left does not wait.
        gain: What a compaction is good for, over all partitions.
        manifests: How many there are.
        manifest_bytes: Their bytes.
        oldest: Timestamp of the oldest record, in seconds since the epoch, where it is known.
    """

    head: int | None
    at: float
    files: int
    small_files: int
    waiting: int
    gain: Gain
    manifests: int
    manifest_bytes: int
    oldest: float | None


def look_into(table: Table, facts: Facts, spec: TableSpec, now: float) -> Found:
    """Reads the manifests of the table's head."""
    column = _timestamp_id(table.schema(), spec) if spec.keep_rows_for else None
    live = live_files(table, table.current_snapshot(), column)
    rule = Rule.of(spec.upkeep, int(spec.write.target_file_size), sorts=bool(spec.sort_by))
    groups = list(group_files(live.data, table.spec().spec_id).values())
    return Found(
        head=facts.head,
        at=now,
        files=len(live.data),
        small_files=sum(f.bytes < rule.small for f in live.data),
        waiting=sum(_waiting(group, rule, facts.compacted_to) for group in groups),
        gain=sum((gain_of(group, rule) for group in groups), Gain()),
        manifests=live.manifests,
        manifest_bytes=live.manifest_bytes,
        oldest=_oldest(live.data),
    )


def _waiting(files: Sequence[LiveFile], rule: Rule, compacted_to: int) -> int:
    """Small bytes of one partition.

    The one small file that a compaction leaves per partition does not count: with a hundred
    partitions those alone would ask for the next compaction at once, and for ever.
    """
    if not gain_of(files, rule):
        return 0
    unfinished = gain_of([f for f in files if f.sequence <= compacted_to], rule)
    return sum(f.bytes for f in files if f.bytes < rule.small and (unfinished or f.sequence > compacted_to))


def _timestamp_id(schema: Schema, spec: TableSpec) -> int | None:
    name = next(c for c in metadata_columns(spec) if c.word == "timestamp").name(spec.metadata_names)
    return next((field.field_id for field in schema.fields if field.name == name), None)


def _oldest(files: Sequence[LiveFile]) -> float | None:
    """Iceberg writes bounds of timestamps as microseconds, eight bytes, little endian."""
    bounds = [int.from_bytes(f.lower, "little", signed=True) / 1e6 for f in files if f.lower]
    return min(bounds, default=None)
