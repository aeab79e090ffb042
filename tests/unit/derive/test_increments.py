"""Rows that are new in an input, where another engine's commit says little of itself."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.table import Table

from frazil.connections import Connections
from frazil.derive.positions.inputs import at_head, increment, rows_lost, whole
from frazil.derive.positions.ledger import Position
from frazil.landing.repairs.acceptance import foreign_commits
from frazil.landing.upsert.key import KEY_COLUMNS
from frazil.spec.names import TableName
from kit.tables.delete_files import delete_by_position, live

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


NAME = TableName("ns", "a")
NOBODY = cast("Connections", None)  # asked for rows only where there are delete files


def lost(table: Table, position: Position, read: int) -> int:
    return rows_lost(NOBODY, table, position, read)


def test_rows_that_are_gone_from_an_input_are_lost_whatever_came_later(table: Table) -> None:
    position = at_head(table)
    table.append(ROWS)
    assert lost(table, position, read=3) == 0

    table.delete("n = 1")

    assert lost(table, position, read=3) == 2, "one of those that came later is not told apart"
    assert lost(table, at_head(table), read=6) == 2


def test_what_a_rollback_took_away_is_lost_and_what_came_instead_makes_no_good(table: Table) -> None:
    first = at_head(table)
    table.append(ROWS)
    position = at_head(table)
    table.manage_snapshots().rollback_to_snapshot(first.snapshot).commit()
    table.append(ROWS)

    assert lost(table, position, read=6) == 3


def test_nothing_that_was_read_is_known_to_be_in_another_table_of_the_name(table: Table) -> None:
    assert lost(table, replace(at_head(table), uuid="another"), read=3) == 3


def test_a_commit_that_counts_nothing_may_have_changed_rows(table: Table) -> None:
    known = {s.snapshot_id for s in foreign_commits(table.metadata)}
    table.append(ROWS.slice(0, 0))
    assert {s.snapshot_id for s in foreign_commits(table.metadata)} == known

    assert len(foreign_commits(silent(table).metadata)) == len(known) + 1


def test_changes_are_followed_whether_a_table_has_delete_files_or_not(table: Table) -> None:
    with table.transaction() as tx:
        tx.set_properties({KEY_COLUMNS: json.dumps(["n"])})
    table.append(ROWS)
    delete_by_position(table, (live(table)[0].data_file, [0]))
    position = at_head(table)
    table.refresh().overwrite(ROWS, "n = 2")

    new = increment(table, position, follows=True)

    assert (new.changed, new.since) == (True, position.snapshot)
