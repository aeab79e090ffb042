"""A staged change is worked out once, however often PyIceberg looks at it."""

from __future__ import annotations

import pytest
from pyiceberg import table as pyiceberg_table
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


def test_metadata_is_copied_once_for_each_change(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    copies = []
    copied = pyiceberg_table.update_table_metadata
    monkeypatch.setattr(
        pyiceberg_table, "update_table_metadata", lambda *args: copies.append(args) or copied(*args)
    )
    staged(transaction(lake.table))
    ours, changes = len(copies), len({len(args[1]) for args in copies})
    staged(lake.table.transaction())
    assert ours == changes
    assert len(copies) - ours > 10
