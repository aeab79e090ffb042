"""Ledgers of any kind: their versions, and the copy in the table's properties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table

from frazil.derive.positions.ledger import DerivedLedger, Position
from frazil.errors import ConfigureError, PositionLostError
from frazil.landing.position.ledger import Ledger
from frazil.tables.commits import ledger as ledger_module
from frazil.tables.commits.ledger import SEQUENCE, Entry, copied, disown_copy, rewind
from frazil.tables.metadata.snapshots import ancestors

KINDS: Mapping[str, Entry] = {
    "landing": Ledger("trades", "abc", {0: (0, 4)}, {0: 0}, records=4, landing="landing_1_a"),
    "derivation": DerivedLedger({"ns.a": Position("uuid", 5, 5)}, "query", "deriving_1_a", rows=4),
}
VERSION_1 = {
    "frazil.topic": "trades", "frazil.topic-id": "abc",
    "frazil.spans": '{"0":[0,4]}', "frazil.start": '{"0":0}',
    "frazil.records": "4", "frazil.dead-letters": "0", "frazil.skipped": "0", "frazil.gaps": "{}",
    "frazil.bytes": "0", "frazil.total-records": "0", "frazil.total-bad": "0", "frazil.total-gaps": "0",
    "frazil.schema-ids": "", "frazil.max-timestamp": "", "frazil.landing": "landing_1_a", "frazil.run-id": "",
    "frazil.version": "",
}  # fmt: skip
"""As the first version of Frazil wrote it."""

each_kind = pytest.mark.parametrize("entry", KINDS.values(), ids=KINDS)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    catalog = InMemoryCatalog("memory", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("sales")
    table = catalog.create_table(("sales", "orders"), Schema())
    touch(table)
    return table


def touch(table: Table, summary: Mapping[str, str] | None = None) -> int:
    """A commit to the table; of another tool where nothing is said."""
    with table.transaction() as tx:
        if summary:
            tx.set_properties(copied(summary, table.metadata.next_sequence_number()))
        with tx.update_snapshot(snapshot_properties=dict(summary or {})).fast_append():
            pass
    return head(table)


def head(table: Table) -> int:
    assert table.metadata.current_snapshot_id
    return table.metadata.current_snapshot_id


def expire_all_but(table: Table, *kept: int) -> None:
    gone = {s.snapshot_id for s in table.snapshots()} - {*kept, head(table)}
    table.maintenance.expire_snapshots().by_ids(sorted(gone)).commit()


def roll_back(table: Table, to: int) -> None:
    """As another engine does: the properties stay as they are."""
    table.manage_snapshots().rollback_to_snapshot(to).commit()


@each_kind
def test_what_a_ledger_writes_it_reads_back(entry: Entry) -> None:
    assert type(entry).parse(entry.properties()) == entry


def test_a_ledger_of_the_first_version_is_read() -> None:
    ledger = Ledger.parse(VERSION_1)

    assert (ledger.position, ledger.records, ledger.expired, ledger.schema_ids) == ({0: 4}, 4, 0, ())


@each_kind
def test_what_a_later_minor_version_adds_is_handed_on(entry: Entry) -> None:
    later = {
        **entry.properties(),
        "frazil.ledger": "2.7",
        "frazil.epochs": "{}",
        "frazil.upkeep": "row_expiry",
    }

    after = entry.following(type(entry).parse(later))

    assert (after.properties()["frazil.epochs"], after.properties()["frazil.ledger"]) == ("{}", "2.7")
    assert "frazil.upkeep" not in after.properties()
    assert entry.following(after).unknown == {"frazil.epochs": "{}"}


@each_kind
def test_a_ledger_of_a_later_major_version_is_refused_by_name_and_read_by_that_version(
    entry: Entry, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    touch(table, {**entry.properties(), "frazil.ledger": "3.0", "frazil.version": "9.1"})

    with pytest.raises(ConfigureError, match="A newer Frazil") as raised:
        type(entry).newest(table.metadata)

    assert "9.1" in raised.value.where
    assert raised.value.todo == "Install that version of Frazil, or a newer one, on this machine."
    monkeypatch.setattr(ledger_module, "_VERSION", (3, 0))  # as that version has it
    assert type(entry).newest(table.metadata) == replace(entry, version="9.1")


@each_kind
def test_the_copy_tells_what_expiry_took_away(entry: Entry, table: Table) -> None:
    touch(table, entry.properties())
    touch(table)
    expire_all_but(table)

    assert type(entry).newest(table.metadata) == entry


@pytest.mark.parametrize("then", ["nothing", "another commit of that engine"])
@each_kind
def test_a_copy_that_is_newer_than_what_main_holds_is_refused_with_a_way_out(
    entry: Entry, table: Table, then: str
) -> None:
    touch(table, entry.properties())
    older = touch(table)
    newer = touch(table, entry.properties())
    expire_all_but(table, older, newer)
    roll_back(table, older)
    if then != "nothing":
        touch(table)

    with pytest.raises(PositionLostError, match="rolled the table back") as raised:
        type(entry).newest(table.metadata)

    assert f"--to {newer}" in raised.value.todo
    assert "--rebuild" in raised.value.todo
    assert type(entry).newest(table.metadata, whatever_it_holds=True) == entry


@each_kind
def test_a_compaction_after_another_engines_rollback_never_makes_a_newer_copy_count(
    entry: Entry, table: Table
) -> None:
    older = touch(table, entry.properties())
    newer = entry.following(entry)
    touch(table, newer.properties())
    roll_back(table, older)
    assert type(entry).newest(table.metadata) == entry

    with table.transaction() as tx:
        disown_copy(tx)
        with tx.update_snapshot().fast_append():
            pass
    assert type(entry).newest(table.metadata) == entry
    expire_all_but(table)

    with pytest.raises(PositionLostError, match="rolled the table back"):
        type(entry).newest(table.metadata)


@each_kind
def test_a_compaction_leaves_a_copy_that_main_holds(entry: Entry, table: Table) -> None:
    touch(table, entry.properties())
    before = dict(table.properties)

    for _ in range(2):
        with table.transaction() as tx:
            disown_copy(tx)
            with tx.update_snapshot().fast_append():
                pass
        expire_all_but(table)

    assert table.properties == before
    assert type(entry).newest(table.metadata) == entry


@each_kind
def test_a_copy_of_the_first_version_has_no_sequence_number_and_is_taken_as_it_is(
    entry: Entry, table: Table
) -> None:
    touch(table, entry.properties())
    older = touch(table)
    expire_all_but(table)
    with table.transaction() as tx:
        tx.remove_properties(SEQUENCE)
    assert head(table) == older

    assert type(entry).newest(table.metadata) == entry


@each_kind
def test_before_the_first_work_nothing_was_done_whatever_the_copy_says(entry: Entry, table: Table) -> None:
    first = head(table)
    touch(table, entry.properties())
    roll_back(table, first)

    assert type(entry).newest(table.metadata) is None


@each_kind
def test_a_rewind_leaves_a_copy_that_says_what_the_snapshot_does(entry: Entry, table: Table) -> None:
    told_by = touch(table, entry.properties())
    touch(table)
    newest = type(entry).newest_of(ancestors(table.metadata))
    later = {**entry.properties(), "frazil.ledger": "2.7", "frazil.epochs": "{}"}
    touch(table, later)
    assert newest

    with table.transaction() as tx:
        tx.set_properties({"frazil.migrations": "{}"})
        rewind(tx, type(entry), newest)

    number = next(s.sequence_number for s in table.snapshots() if s.snapshot_id == told_by)
    own = {key: text for key, text in table.properties.items() if key.startswith("frazil.")}
    assert own == {**entry.properties(), SEQUENCE: str(number), "frazil.migrations": "{}"}


@each_kind
def test_a_rewind_to_before_the_first_work_leaves_no_copy(entry: Entry, table: Table) -> None:
    newest = type(entry).newest_of(ancestors(table.metadata))
    touch(table, entry.properties())
    assert newest

    with table.transaction() as tx:
        rewind(tx, type(entry), newest)

    assert [key for key in table.properties if key.startswith("frazil.")] == []
