"""Rows that are new in an input, where another engine's commit says little of itself."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.table import Table

from frazil.derive.inputs import at_head, increment, whole
from frazil.landing.acceptance import foreign_commits

ROWS = pa.table({"n": [1, 2, 3]})


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """An input of three rows."""
    catalog = InMemoryCatalog("memory", warehouse=tmp_path.as_uri())
    catalog.create_namespace("ns")
    made = catalog.create_table("ns.a", ROWS.schema)
    made.append(ROWS)
    return made


def silent(table: Table) -> Table:
    """The same, its head without the counts that Iceberg leaves to each writer."""
    head = table.metadata.snapshots[-1]
    assert head.summary
    head.summary._additional_properties.clear()
    return table


def test_rows_are_counted_in_manifests_where_a_summary_does_not_count_them(table: Table) -> None:
    position = at_head(table)
    table.append(ROWS.slice(1))

    assert increment(silent(table), position).rows == 2
    assert increment(table, position).is_due
    assert whole(table).rows == 5


def test_a_commit_that_counts_nothing_may_have_changed_rows(table: Table) -> None:
    known = {s.snapshot_id for s in foreign_commits(table.metadata)}
    table.append(ROWS.slice(0, 0))
    assert {s.snapshot_id for s in foreign_commits(table.metadata)} == known

    assert len(foreign_commits(silent(table).metadata)) == len(known) + 1
