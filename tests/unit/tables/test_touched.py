"""The files that tell two snapshots apart: those that came and went, and those that lost rows."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from frazil.tables.touched import touched
from kit.tables.delete_files import delete_by_equality, delete_by_position, live

ROWS = pa.table({"n": [1, 2, 3]})


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Two files of three rows each."""
    catalog = InMemoryCatalog("memory", warehouse=tmp_path.as_uri())
    catalog.create_namespace("ns")
    made = catalog.create_table("ns.a", ROWS.schema)
    made.append(ROWS)
    made.append(ROWS)
    return made


def head(table: Table) -> Snapshot:
    snapshot = table.refresh().current_snapshot()
    assert snapshot
    return snapshot


def paths(table: Table, before: Snapshot, after: Snapshot) -> tuple[set[str], set[str]]:
    one, two = touched(table, before, after)
    assert (one.table.current_snapshot(), two.table.current_snapshot()) == (before, after)
    return ({e.data_file.file_path for e in one.entries}, {e.data_file.file_path for e in two.entries})


def files(table: Table) -> list[str]:
    return [entry.data_file.file_path for entry in live(table)]


def test_a_file_that_came_and_one_that_went(table: Table) -> None:
    before, (first, second) = head(table), files(table)
    table.append(ROWS)
    *_, third = files(table)

    assert paths(table, before, head(table)) == (set(), {third})
    assert paths(table, head(table), before) == ({third}, set())

    begun = head(table)
    table.delete("n = 2")
    assert paths(table, begun, head(table)) == ({first, second, third}, {*files(table)})
    assert paths(table, head(table), head(table)) == (set(), set())


def test_a_file_that_lost_rows_is_told_apart_and_no_other_is(table: Table) -> None:
    before, (first, second) = head(table), live(table)
    delete_by_position(table, (first.data_file, [0]))
    by_place = head(table)

    one = {first.data_file.file_path}
    assert paths(table, before, by_place) == (one, one)
    delete_by_position(table, (first.data_file, [1]))
    assert paths(table, by_place, head(table)) == (one, one)

    both, begun = one | {second.data_file.file_path}, head(table)
    delete_by_equality(table, n=3)
    assert paths(table, begun, head(table)) == (both, both)
