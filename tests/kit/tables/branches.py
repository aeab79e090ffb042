"""Branches as works of older releases have left them."""

from __future__ import annotations

from pyiceberg.catalog import Catalog

from frazil.spec.names import TableName

__all__ = ["make_branch"]


def make_branch(catalog: Catalog, name: TableName, branch: str) -> None:
    """Makes a branch of what a table's `main` is."""
    table = catalog.load_table(name.identifier)
    head = table.current_snapshot()
    assert head
    table.manage_snapshots().create_branch(head.snapshot_id, branch).commit()
