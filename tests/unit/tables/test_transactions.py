"""A staged change is worked out once, however often PyIceberg looks at it."""

from __future__ import annotations

from pyiceberg.table import Transaction

from frazil.tables.catalogs.pyiceberg import transaction
from kit.tables.commits import Lake


def staged(tx: Transaction) -> Transaction:
    """Sets properties, and appends nothing: one snapshot more."""
    tx.set_properties({"answer": "42"})
    with tx.update_snapshot().fast_append():
        pass
    return tx


def test_it_says_the_same_as_pyicebergs_own_after_each_change(lake: Lake) -> None:
    ours, theirs = staged(transaction(lake.table)), staged(lake.table.transaction())
    assert ours.table_metadata.properties == theirs.table_metadata.properties
    assert len(ours.table_metadata.snapshots) == len(theirs.table_metadata.snapshots)
    assert len(ours.table_metadata.snapshots) == len(lake.table.metadata.snapshots) + 1


def test_no_snapshot_is_copied_for_a_change(lake: Lake) -> None:
    table = lake.table
    tx = staged(transaction(table))
    assert all(a is b for a, b in zip(table.metadata.snapshots, tx.table_metadata.snapshots, strict=False))
    assert tx.table_metadata is tx.table_metadata
