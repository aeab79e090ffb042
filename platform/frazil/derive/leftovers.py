"""Branches of derivations that died: dropped at the next one; their files go with snapshot expiry."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from frazil.derive.ledger import ledger_in, read_derived
from frazil.derive.write import BASE
from frazil.spec.names import TableName
from frazil.tables.branches import DERIVING, drop_branch, outlived
from frazil.tables.snapshots import ancestors, is_first, summary_of

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

__all__ = ["drop_dead_branches"]


def drop_dead_branches(
    catalog: Catalog, name: TableName, table: Table, now: float | None = None
) -> list[str]:
    """Drops the branches that can never be published any more; returns their names.

    A younger one upon the newest derivation may belong to one that is at work in another process.
    """
    now = time.time() if now is None else now
    old = outlived(table.metadata, now)
    dead = [
        ref
        for ref in table.metadata.refs
        if ref in old or (ref.startswith(DERIVING) and _moved_on(table, ref))
    ]
    for ref in dead:
        drop_branch(catalog, name, ref)
    return dead


def _moved_on(table: Table, branch: str) -> bool:
    """Whether the branch stands upon another derivation than the newest; False where nothing tells."""
    newest = read_derived(table.metadata, rebuild=True)
    base = next(filter(lambda told: told is not None, map(_base, ancestors(table.metadata, branch))), None)
    return base is not None and base != (newest.derivation if newest else "")


def _base(snapshot: Snapshot) -> str | None:
    """The derivation that a snapshot tells of; empty: none before it; None: it does not tell."""
    if ledger := ledger_in(snapshot):
        return ledger.derivation
    told = summary_of(snapshot).get(BASE)
    return "" if told is None and is_first(snapshot) else told
