"""Branches that works of older releases made, and that those which died left in the middle.

No work makes a branch any more: one with the name of a work is an older release's.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.catalogs.pyiceberg import transaction
from frazil.tables.commits.commit import LONGEST, commit
from frazil.tables.commits.staging import remove_ref
from frazil.tables.commits.works import started_at

if TYPE_CHECKING:
    from pyiceberg.table import Table, Transaction
    from pyiceberg.table.metadata import TableMetadata

_NAME = re.compile(r"[a-z]+_\d{13}_[0-9a-f]{8}")


def branches_of_works(metadata: TableMetadata) -> dict[str, float]:
    """The branches of a table's works, with when each began, in seconds since the epoch.

    One that died counts as long as nobody dropped its branch.
    """
    return {ref: started_at(ref) for ref in metadata.refs if _NAME.fullmatch(ref)}


def dead_branches(metadata: TableMetadata, now: float) -> dict[str, float]:
    """Branches of works that are older than any work may take, with their age in seconds."""
    ages = {branch: now - began for branch, began in branches_of_works(metadata).items()}
    return {branch: age for branch, age in ages.items() if age > LONGEST}


def drop_dead_branches(table: Table, now: float | None = None) -> None:
    """Drops the branches of dead works that nobody published past; their files go with snapshot expiry."""
    for branch in dead_branches(table.metadata, time.time() if now is None else now):
        drop_branch(TableHandle.of(table), branch)


def drop_branch(handle: TableHandle, branch: str) -> None:
    """Drops a branch, if it is there."""

    def stage(table: Table) -> Transaction | None:
        if branch not in table.metadata.refs:
            return None
        tx = transaction(table)
        remove_ref(tx, branch)
        return tx

    commit(handle, stage, work="removal of a branch")
