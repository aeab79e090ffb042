"""Whatever happens to an input, its rows count once in what is made of it; or it is said that they can't."""

from __future__ import annotations

import time

import pytest

from frazil.errors import PositionLostError, RowsLostError
from frazil.upkeep.compaction.run import compact
from kit.derived.made import Made, MakeTable, Source, make_source


@pytest.fixture
def made(source: Source, make_table: MakeTable) -> Made:
    """A table of two trades, each in a snapshot of its own."""
    source.trades(1)
    table = make_table(f"SELECT quantity FROM {source.name.table}")
    table.derive()
    source.trades(2)
    table.derive()
    return table


def quantities(made: Made) -> list[int]:
    return [row[0] for row in made.rows("quantity")]


def compacted(source: Source, made: Made) -> None:
    """All files of the input become one."""
    spec = made.spec.model_copy(update={"table": source.name.table})
    assert compact(spec, made.connections, time.time()).done


def test_a_compaction_brings_no_row_again(source: Source, made: Made) -> None:
    source.trades(3)
    compacted(source, made)
    source.trades(4)

    report = made.derive()

    assert (report.rows, report.input_rows) == (2, 2)
    assert quantities(made) == [1, 2, 3, 4]
    compacted(source, made)
    assert not made.derive().done


def test_a_table_goes_back_with_its_input(source: Source, made: Made) -> None:
    here, at_two = source.head, made.table.current_snapshot()
    source.trades(3)
    made.derive()
    source.roll_back(here)
    source.trades(4)

    report = made.derive()

    assert at_two
    assert (report.rolled_back_to, report.rows) == (at_two.snapshot_id, 1)
    assert quantities(made) == [1, 2, 4]
    assert made.ledger.total_rows == 3


@pytest.mark.nightly
def test_a_table_goes_back_to_its_beginning_with_its_input(source: Source, made: Made) -> None:
    first = source.table.snapshots()[0].snapshot_id
    source.roll_back(first)
    source.trades(5)

    report = made.derive()

    assert (report.whole, report.rows, quantities(made)) == (True, 1, [5])


def test_an_input_may_expire_as_long_as_all_that_is_new_is_kept(source: Source, made: Made) -> None:
    source.expire()
    source.trades(3)
    made.derive()
    source.trades(4)
    before = [s.snapshot_id for s in source.table.snapshots()][:-1]
    source.table.maintenance.expire_snapshots().by_ids(before).commit()

    assert made.derive().rows == 1
    assert quantities(made) == [1, 2, 3, 4]


def test_a_position_that_expired_is_lost_and_a_rebuild_finds_it(source: Source, made: Made) -> None:
    source.trades(3)
    source.trades(4)
    source.expire()
    with pytest.raises(PositionLostError, match="--rebuild"):
        made.derive()
    assert quantities(made) == [1, 2]

    made.derive(rebuild=True)
    source.trades(5)

    assert made.derive().rows == 1
    assert quantities(made) == [1, 2, 3, 4, 5]


@pytest.mark.each_time("delete")
@pytest.mark.parametrize("change", ["delete", "overwrite"])
def test_rows_that_were_changed_ask_for_a_rebuild(source: Source, made: Made, change: str) -> None:
    if change == "delete":
        source.table.delete("quantity = 1")
    else:
        source.table.overwrite(source.table.scan().to_arrow().slice(0, 1))
    with pytest.raises(PositionLostError, match="changed or deleted"):
        made.derive()
    gone = 1 if change == "delete" else 2  # then both, and one came anew
    with pytest.raises(RowsLostError, match=rf": {gone} of 2 rows that were read"):
        made.derive(rebuild=True)

    made.derive(rebuild=True, accept_loss=gone)

    assert quantities(made) == sorted(r["quantity"] for r in source.table.scan().to_arrow().to_pylist())


def test_another_table_of_the_same_name_asks_for_a_rebuild(source: Source, made: Made) -> None:
    source.catalog.drop_table(source.name.identifier)
    make_source(source.catalog, source.name.table).trades(9)
    with pytest.raises(PositionLostError, match="another table"):
        made.derive()

    with pytest.raises(RowsLostError, match="--accept-loss 2"):
        made.derive(rebuild=True, accept_loss=1)

    assert made.derive(rebuild=True, accept_loss=2).rows == 1
    assert quantities(made) == [9]
    assert made.derive(rebuild=True).rows == 1, "what was accepted is not asked for again"


@pytest.mark.nightly
def test_a_table_of_derived_tables_goes_back_with_all_before_it(
    source: Source, made: Made, make_table: MakeTable
) -> None:
    second = make_table(f"SELECT quantity + 100 AS quantity FROM {made.name.table}")
    second.derive()
    here = source.head
    source.trades(3)
    made.derive()
    second.derive()
    source.roll_back(here)
    source.trades(4)
    made.derive()

    report = second.derive()

    assert (report.rolled_back_to is not None, quantities(second)) == (True, [101, 102, 104])


def test_a_position_follows_an_input_that_only_upkeep_goes_on_with(source: Source, made: Made) -> None:
    for _ in range(5):
        source.trades()

    report = made.derive()

    assert (report.done, report.rows, made.ledger.total_rows) == (True, 0, 2)
    assert made.ledger.inputs[str(source.name)].snapshot == source.head
