"""What dead work left behind, as far as metadata tells: branches that nobody will publish."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.tables.branches import outlived
from frazil.tables.snapshots import summary_of

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata

__all__ = ["DeadBranch", "dead_branches"]


@dataclass(frozen=True, slots=True)
class DeadBranch:
    """A branch whose work ended without publishing it; its files are nobody's once it is dropped.

    Args:
        name: The branch.
        age: Seconds since its work began.
        files: Data files that its newest commit added.
        bytes: Their bytes.
    """

    name: str
    age: float
    files: int
    bytes: int


def dead_branches(metadata: TableMetadata, now: float) -> tuple[DeadBranch, ...]:
    """Branches of landings, redrives and compactions that are older than any of them may take."""
    return tuple(_branch(metadata, name, age) for name, age in sorted(outlived(metadata, now).items()))


def _branch(metadata: TableMetadata, name: str, age: float) -> DeadBranch:
    tip, main = metadata.refs[name].snapshot_id, metadata.refs.get("main")
    unwritten = main is not None and main.snapshot_id == tip
    added = {} if unwritten else summary_of(metadata.snapshot_by_id(tip))
    return DeadBranch(name, age, int(added.get("added-data-files", 0)), int(added.get("added-files-size", 0)))
