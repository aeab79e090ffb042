"""Rollbacks of any table: which snapshots `main` may turn to, and what the table says then."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table

from frazil.derive.positions.ledger import DerivedLedger, Position
from frazil.errors import CommitConflictError, MissingError, PositionLostError, RepairError
from frazil.landing.position.ledger import Ledger
from frazil.spec.names import TableName
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.ledger import Entry, copied
from frazil.tables.commits.rollback import Turn, report_of, turn_back

NAME = TableName("sales", "orders")
KINDS: Mapping[str, Entry] = {
    "landing": Ledger("trades", "abc", {0: (0, 4)}, {0: 0}, records=4, landing="landing_1_a"),
    "derivation": DerivedLedger({"ns.a": Position("uuid", 5, 5)}, "query", "deriving_1_a", rows=4),
}
each_kind = pytest.mark.parametrize("entry", KINDS.values(), ids=KINDS)


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    catalog = InMemoryCatalog("memory", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("sales")
    catalog.create_table(NAME.identifier, Schema())
    return catalog


def commit(catalog: Catalog, entry: Entry | None = None, branch: str = "main") -> int:
    """A snapshot, with a ledger or without one."""
    table, summary = catalog.load_table(NAME.identifier), entry.properties() if entry else {}
    with table.transaction() as tx:
        if summary:
            tx.set_properties(copied(summary, table.metadata.next_sequence_number()))
        with tx.update_snapshot(snapshot_properties=summary, branch=branch).fast_append():
            pass
    return table.metadata.refs[branch].snapshot_id


def head(table: Table) -> int | None:
    return table.metadata.current_snapshot_id


def shown(catalog: Catalog) -> Table:
    return catalog.load_table(NAME.identifier)


@each_kind
def test_the_head_and_the_copy_go_back_together(catalog: Catalog, entry: Entry) -> None:
    commit(catalog)
    first = commit(catalog, entry)
    second = commit(catalog, entry.following(entry))

    turn = turn_back(TableHandle(catalog, NAME), first, type(entry))

    table = shown(catalog)
    assert (turn.moves, head(table), turn.head.snapshot_id) == (True, first, second)
    assert type(entry).newest(table.metadata) == type(entry).copy(table.properties) == entry


@each_kind
def test_a_moment_means_the_newest_snapshot_that_is_not_younger(catalog: Catalog, entry: Entry) -> None:
    commit(catalog, entry)

    turn = turn_back(TableHandle(catalog, NAME), datetime.now(UTC), type(entry))

    assert not turn.moves
    assert "already" in report_of(NAME, turn, "", published=False).text
    with pytest.raises(MissingError, match="as old as"):
        turn_back(TableHandle(catalog, NAME), datetime(2020, 1, 1, tzinfo=UTC), type(entry))


@each_kind
def test_what_a_rollback_took_away_comes_back(catalog: Catalog, entry: Entry) -> None:
    first = commit(catalog, entry)
    later = entry.following(entry)
    second = commit(catalog, later)
    turn_back(TableHandle(catalog, NAME), first, type(entry))

    turn_back(TableHandle(catalog, NAME), second, type(entry))

    assert head(shown(catalog)) == second
    assert type(entry).copy(shown(catalog).properties) == later


@each_kind
def test_the_way_out_that_the_error_of_another_engines_rollback_names_is_one(
    catalog: Catalog, entry: Entry
) -> None:
    commit(catalog, entry)
    older, newer = commit(catalog), commit(catalog, entry.following(entry))
    table = shown(catalog)
    gone = {s.snapshot_id for s in table.snapshots()} - {older, newer}
    table.maintenance.expire_snapshots().by_ids(sorted(gone)).commit()
    shown(catalog).manage_snapshots().rollback_to_snapshot(older).commit()
    with pytest.raises(PositionLostError, match="rolled the table back") as raised:
        type(entry).newest(shown(catalog).metadata)
    assert f"--to {newer}" in raised.value.todo

    turn_back(TableHandle(catalog, NAME), newer, type(entry))

    assert type(entry).newest(shown(catalog).metadata) == entry.following(entry)


@each_kind
def test_a_branchs_snapshot_is_none_to_turn_to(catalog: Catalog, entry: Entry) -> None:
    commit(catalog, entry)
    at = commit(catalog)
    shown(catalog).manage_snapshots().create_branch(at, "work").commit()
    unaudited = commit(catalog, branch="work")

    with pytest.raises(MissingError, match="no ancestor of main") as raised:
        turn_back(TableHandle(catalog, NAME), unaudited, type(entry))

    assert str(head(shown(catalog))) in raised.value.where


@each_kind
def test_what_other_work_went_on_from_does_not_come_back(catalog: Catalog, entry: Entry) -> None:
    first, second = commit(catalog, entry), commit(catalog, entry)
    turn_back(TableHandle(catalog, NAME), first, type(entry))
    commit(catalog, entry)

    with pytest.raises(MissingError, match="no ancestor of main"):
        turn_back(TableHandle(catalog, NAME), second, type(entry))


@each_kind
def test_a_snapshot_whose_position_nothing_tells_is_refused(catalog: Catalog, entry: Entry) -> None:
    commit(catalog, entry)
    silent, last = commit(catalog), commit(catalog, entry)
    table = shown(catalog)
    gone = {s.snapshot_id for s in table.snapshots()} - {silent, last}
    table.maintenance.expire_snapshots().by_ids(sorted(gone)).commit()

    with pytest.raises(RepairError, match="is no longer known") as raised:
        turn_back(TableHandle(catalog, NAME), silent, type(entry))

    assert str(last) in raised.value.todo
    assert head(shown(catalog)) == last
    assert not turn_back(TableHandle(catalog, NAME), last, type(entry)).moves


def test_a_check_that_raises_leaves_everything_as_it_was(catalog: Catalog) -> None:
    first, second = commit(catalog, KINDS["landing"]), commit(catalog, KINDS["landing"])

    def check(turn: Turn[Ledger]) -> None:
        raise CommitConflictError(str(turn.target.snapshot_id))

    with pytest.raises(CommitConflictError, match=str(first)):
        turn_back(TableHandle(catalog, NAME), first, Ledger, check)

    assert head(shown(catalog)) == second


def test_a_suspension_goes_with_what_it_was_about(catalog: Catalog) -> None:
    first = commit(catalog, KINDS["landing"])
    commit(catalog, KINDS["landing"])
    with shown(catalog).transaction() as tx:
        tx.set_properties({"frazil.suspended": "a record", "frazil.suspended-by": "a schema"})

    turn_back(TableHandle(catalog, NAME), first, Ledger)

    assert not any("suspended" in name for name in shown(catalog).properties)
