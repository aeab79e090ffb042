"""Tables that are made of a table, and its feed, have what they have not read yet kept for them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from frazil.checks.run import run_check
from frazil.derive.feeds.position import FedTo, note
from frazil.derive.positions.inputs import at_head, increment, note_reader, readers_of, standing
from frazil.derive.positions.ledger import DerivedLedger, Position
from frazil.spec.derived import DerivedSpec, Feed
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.spec.upkeep import Upkeep
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.commit import set_properties
from frazil.tables.commits.ledger import FORMAT
from frazil.tables.creation import create_table
from kit.readers.mirrored import NAME, Mirror

FEW = Upkeep(min_snapshots=2, max_snapshots=5)
READER = TableName(NAME.namespace, "totals")


@pytest.fixture
def source(tmp_path: Path) -> Mirror:
    """A table that no target shows."""
    spec = TableSpec(topic="orders", namespace=NAME.namespace, publish=[], upkeep=FEW)
    mirror = Mirror(tmp_path, "http://127.0.0.1:1", spec)
    set_properties(TableHandle(mirror.connections.catalog, NAME), {FORMAT: "2.0"})
    mirror.land(3)
    return mirror


def derived(source: Mirror) -> Position:
    """Makes a table that has read all of the source; its position."""
    catalog, read = source.connections.catalog, at_head(source.table)
    table = create_table(TableHandle(catalog, READER), (), (), {})
    ledger = DerivedLedger(inputs={str(NAME): read}, query="q", derivation="deriving_1")
    table.append(table.scan().to_arrow(), snapshot_properties=ledger.properties())
    note_reader([source.table], READER)
    return read


def test_a_derived_table_that_fails_overnight_goes_on_from_its_position(source: Mirror) -> None:
    read = derived(source)
    source.land(7)

    report = source.keep_up(days=1)

    assert "Kept for readers: table unit.totals has not read what came since" in report.text
    assert "8 snapshots are kept for it until" in report.text
    assert standing(read, source.table) == "held"
    assert increment(source.table, read).rows == 7


def test_when_it_has_read_what_was_kept_for_it_the_snapshots_go(source: Mirror) -> None:
    derived(source)
    source.land(7)
    source.keep_up(days=1)
    source.connections.catalog.purge_table(READER.identifier)
    derived(source)

    source.keep_up(days=1)

    assert len(source.table.snapshots()) == FEW.max_snapshots


def test_past_the_bound_nothing_is_kept_for_it(source: Mirror) -> None:
    read = derived(source)
    source.land(7)

    report = source.keep_up(days=8)

    assert "Kept for readers" not in report.text
    assert standing(read, source.table) == "expired"


def test_a_table_that_is_gone_holds_nothing_back(source: Mirror) -> None:
    derived(source)
    source.connections.catalog.purge_table(READER.identifier)
    source.land(7)

    source.keep_up(days=1)

    assert len(source.table.snapshots()) == FEW.max_snapshots


def test_a_feed_that_is_behind_goes_on_from_its_position(source: Mirror) -> None:
    feeds = Feed(topic="orders_out")
    source.spec = DerivedSpec(  # type: ignore[assignment]
        table=NAME.table, namespace=NAME.namespace, sql=Path("q.sql"), feeds=feeds, publish=[], upkeep=FEW
    )
    read = at_head(source.table)
    note(TableHandle(source.connections.catalog, NAME), feeds.topic, FedTo(read, sent=3))
    source.land(7)

    report = source.keep_up(days=1)

    assert "Kept for readers: topic orders_out has not read" in report.text
    assert standing(read, source.table) == "held"


def test_long_before_the_bound_the_check_says_who_holds_back_what_and_what_to_do(source: Mirror) -> None:
    derived(source)
    source.land(3)
    assert run_check("file_health", source.spec, source.connections).passed
    second = FEW.model_copy(update={"keep_for_readers": timedelta(seconds=1e-3)})
    source.spec = source.spec.model_copy(update={"upkeep": second})

    result = run_check("file_health", source.spec, source.connections)

    assert result.failed
    assert result.severity == "WARN"
    assert "table unit.totals has not read what came since" in result.text
    assert "4 snapshots are kept for it until" in result.text
    assert "`frazil derive unit.totals` fixes it" in result.text


def test_expiry_is_not_said_to_mend_what_is_kept_for_a_reader(source: Mirror) -> None:
    derived(source)
    source.land(30)
    source.keep_up(days=1)

    result = run_check("file_health", source.spec, source.connections)

    assert len(source.table.snapshots()) > 4 * FEW.max_snapshots
    assert result.passed, result.text


def test_an_input_is_told_once_who_reads_it(source: Mirror) -> None:
    derived(source)
    before = source.table.metadata_location

    note_reader([source.table], READER)

    assert readers_of(source.table) == (str(READER),)
    assert source.table.metadata_location == before


def test_a_table_of_another_tool_is_not_written_to(source: Mirror) -> None:
    with source.table.transaction() as tx:
        tx.remove_properties(FORMAT)

    derived(source)

    assert readers_of(source.table) == ()


def test_dead_letters_whose_ledger_stands_in_their_snapshots_only_are_told(source: Mirror) -> None:
    with source.table.transaction() as tx:
        tx.remove_properties(FORMAT)
    source.table.append(source.table.scan().to_arrow(), snapshot_properties={FORMAT: "2.0"})

    derived(source)

    assert readers_of(source.table) == (str(READER),)


def test_a_position_in_another_table_of_that_name_holds_nothing_back(source: Mirror) -> None:
    read = derived(source)
    other = DerivedLedger(
        inputs={str(NAME): replace(read, uuid="0" * 32)}, query="q", derivation="deriving_2"
    )
    table = source.connections.catalog.load_table(READER.identifier)
    table.append(table.scan().to_arrow(), snapshot_properties=other.properties())
    source.land(7)

    source.keep_up(days=1)

    assert len(source.table.snapshots()) == FEW.max_snapshots
