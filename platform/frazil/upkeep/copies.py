"""Old copies: bytes that only older snapshots hold, most of them of files that were put together.

Each compaction of a slow table takes the small file that the last one left once more, and old snapshots
keep every copy: a table of a few megabytes would fill gigabytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from frazil.tables.snapshots import ancestors, summary_of

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

__all__ = ["Copies", "is_rewrite", "read_copies"]


@dataclass(frozen=True, slots=True)
class Copies:
    """What the kept snapshots of `main` tell of the files that its head lacks.

    Args:
        bytes: Of those files.
        made_by: Those of the snapshots that put files in the place of others: their files are copies
            already.
    """

    bytes: int = 0
    made_by: frozenset[int] = frozenset()


def read_copies(metadata: TableMetadata) -> Copies:
    """From summaries alone; the metadata must have all snapshots.

    What the oldest one removed is in none of them. Files of a tag's line and of what a rollback left
    behind are not counted.
    """
    line = list(ancestors(metadata))
    removed = sum(_removed(newer) for newer, _ in pairwise(line))
    return Copies(removed, frozenset(s.snapshot_id for s in line if is_rewrite(s)))


def is_rewrite(snapshot: Snapshot) -> bool:
    """Whether it holds the same rows as the one before, in other files."""
    return snapshot.summary is not None and snapshot.summary.operation.value == "replace"


def _removed(snapshot: Snapshot) -> int:
    size = summary_of(snapshot).get("removed-files-size", "")
    return int(size) if size.isdigit() else 0
