"""The snapshots of a table: their line, and what their summaries say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot


UPKEEP = "frazil.upkeep"
"""Property of the summary of a snapshot that upkeep made: the kind of upkeep."""

_CHANGES = ("added-records", "deleted-records", "added-delete-files", "removed-delete-files")


def ancestors(metadata: TableMetadata, ref: str = "main") -> Iterator[Snapshot]:
    """The snapshots of a branch, newest first, as far back as they are kept."""
    kept = {snapshot.snapshot_id: snapshot for snapshot in metadata.snapshots}
    head = metadata.refs.get(ref)
    snapshot = kept.pop(head.snapshot_id, None) if head else None
    while snapshot:
        yield snapshot
        parent = snapshot.parent_snapshot_id
        snapshot = kept.pop(parent, None) if parent else None  # once each: a broken line may end in itself


def line_of(metadata: TableMetadata, snapshot: Snapshot) -> Iterator[Snapshot]:
    """A snapshot, whatever names it, and its ancestors, newest first."""
    from pyiceberg.table.snapshots import ancestors_of

    return iter(ancestors_of(snapshot, metadata))


def made_at(snapshot: Snapshot) -> float:
    """When a snapshot was made, in seconds since 1970."""
    return snapshot.timestamp_ms / 1000


def is_on_main(metadata: TableMetadata, snapshot_id: int) -> bool:
    """Whether a snapshot is an ancestor of `main`, or its head: nobody rolled it back."""
    return any(snapshot.snapshot_id == snapshot_id for snapshot in ancestors(metadata))


def is_first(snapshot: Snapshot) -> bool:
    """Whether it is the table's first one; False too where expiry may have removed others before it."""
    return snapshot.parent_snapshot_id is None and snapshot.sequence_number == 1


def number(summary: Mapping[str, str], name: str) -> int:
    """A number of a summary; 0 where it is missing, or where its writer put something else there."""
    return number_or_none(summary, name) or 0


def number_or_none(summary: Mapping[str, str], name: str) -> int | None:
    """The same, but None where it is not known."""
    try:
        count = int(summary[name])
    except (KeyError, ValueError):
        return None
    return count if count >= 0 else None


def rows_in_summary(summary: Mapping[str, str]) -> int:
    """Rows of a snapshot as its summary tells them, without those that are deleted by their places."""
    return max(0, number(summary, "total-records") - number(summary, "total-position-deletes"))


def summary_of(snapshot: Snapshot | None) -> Mapping[str, str]:
    """The properties of a snapshot's summary; empty where there is no snapshot, or it has none."""
    summary = snapshot.summary if snapshot else None
    return {} if summary is None else summary.additional_properties


def is_foreign(snapshot: Snapshot) -> bool:
    """Whether another engine changed rows: Frazil says something of its own in the summary of what it did.

    What only puts files in the place of others is nobody's change, and neither is a snapshot without rows.
    """
    summary = summary_of(snapshot)
    operation = snapshot.summary.operation.value if snapshot.summary else ""
    changes = "total-records" not in summary or any(int(summary.get(name, 0)) for name in _CHANGES)
    return changes and operation != "replace" and not any(name.startswith("frazil.") for name in summary)


def is_rowless(metadata: TableMetadata) -> bool:
    """Whether there is a head, and no snapshot that is kept has a row: nothing is read by the columns."""
    newest_first = reversed(metadata.snapshots)
    has_rows = (number_or_none(summary_of(snapshot), "total-records") != 0 for snapshot in newest_first)
    return bool(metadata.snapshots) and not any(has_rows)
