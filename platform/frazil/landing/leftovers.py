"""Branches of landings that died: dropped at the next plan; their files go with snapshot expiry."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from frazil.landing.ledger import Ledger, ledger_of, read_ledger
from frazil.spec.names import TableName
from frazil.tables.branches import LANDING, drop_branch, outlived
from frazil.tables.snapshots import ancestors

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

__all__ = ["drop_leftovers"]


def drop_leftovers(catalog: Catalog, name: TableName, table: Table, now: float | None = None) -> list[str]:
    """Drops the branches that can never be published any more; returns their names.

    A branch is dead when the position moved on since it was made, or when it is too old. A younger
    one at the present position may belong to a landing that is still at work in another process; a
    redrive's may be published at any position.
    """
    now = time.time() if now is None else now
    current, old = _position(read_ledger(table.metadata)), outlived(table.metadata, now)
    dead = [
        ref
        for ref in table.metadata.refs
        if ref in old or (ref.startswith(LANDING) and _moved_on(table, ref, current))
    ]
    for ref in dead:
        drop_branch(catalog, name, ref)
    return dead


def _moved_on(table: Table, branch: str, current: Mapping[int, int]) -> bool:
    """Whether the branch was made at another position; False where expiry removed the evidence."""
    for snapshot in ancestors(table.metadata, branch):
        if ledger := ledger_of(snapshot):
            return ledger.position != current
        if snapshot.parent_snapshot_id is None:
            return bool(current)
    return False


def _position(ledger: Ledger | None) -> Mapping[int, int]:
    return ledger.position if ledger else {}
