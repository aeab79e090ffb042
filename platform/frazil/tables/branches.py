"""Branches of work under way: a branch's name tells what works there, and since when."""

from __future__ import annotations

import re
import secrets
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata

__all__ = [
    "COMPACTING",
    "DERIVING",
    "EXPIRING",
    "LANDING",
    "REDRIVE",
    "at_work",
    "new_branch",
    "outlived",
    "started_at",
]

LANDING, REDRIVE, DERIVING = "landing_", "redrive_", "deriving_"
"""Prefixes of branches that bring rows."""

EXPIRING, COMPACTING = "expiring_", "compaction_"
"""Prefixes of branches of upkeep."""

_LONGEST = 6 * 3600.0
"""Seconds after which work that still has its branch is taken for dead."""

_NAME = re.compile(r"[a-z]+_\d{13}_[0-9a-f]{8}")


def new_branch(prefix: str) -> str:
    """A name that tells when the work on the branch began (see `started_at`)."""
    return f"{prefix}{int(time.time() * 1000)}_{secrets.token_hex(4)}"


def started_at(branch: str) -> float:
    """When the work on a branch began, in seconds since the epoch."""
    return int(branch.split("_")[1]) / 1000


def at_work(metadata: TableMetadata) -> dict[str, float]:
    """The branches of a table's works, with when each began, in seconds since the epoch.

    One that died counts as long as nobody dropped its branch.
    """
    return {ref: started_at(ref) for ref in metadata.refs if _NAME.fullmatch(ref)}


def outlived(metadata: TableMetadata, now: float) -> dict[str, float]:
    """Those of them that are older than any work may take, with their age in seconds."""
    ages = {branch: now - began for branch, began in at_work(metadata).items()}
    return {branch: age for branch, age in ages.items() if age > _LONGEST}
