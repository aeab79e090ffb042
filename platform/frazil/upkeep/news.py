"""Whether anything but upkeep happened to a table: then nobody has anything new to see or to do."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from frazil.tables.snapshots import ancestors, summary_of
from frazil.upkeep.work import KINDS, Kind

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata

__all__ = ["SUMMARY", "only_upkeep_since"]

SUMMARY = "frazil.upkeep"
"""Property of a snapshot's summary that upkeep made: its kind."""


def only_upkeep_since(
    metadata: TableMetadata, snapshot_id: int | None, kinds: Collection[Kind] = KINDS
) -> bool:
    """Whether every snapshot of `main` behind the one named was made by upkeep of these kinds.

    False where the one named is no ancestor of `main`, or expired.
    """
    for snapshot in ancestors(metadata):
        if snapshot.snapshot_id == snapshot_id:
            return True
        if summary_of(snapshot).get(SUMMARY) not in kinds:
            return False
    return snapshot_id is None
