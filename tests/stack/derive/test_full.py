"""Tables that are made anew: all rows change in one commit, and only where they could be other rows."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from frazil.upkeep.compaction.run import compact
from frazil.upkeep.kind import Order
from kit.derived.made import Made, MakeSource, MakeTable, Source, make_source

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
def joined(make_input: MakeSource, make_table: MakeTable) -> tuple[Made, Source, Source]:
    """How often each trade's quantity stands in the other input: what no new row alone could tell."""
    one, two = make_input(), make_input()
    one.trades(1, 2)
    two.trades(2)
    made = make_table(
        f"SELECT o.quantity, count(t.quantity) AS times FROM {one.name.table} o "
        f"LEFT JOIN {two.name.table} t USING (quantity) GROUP BY o.quantity",
        kind="full",
    )
    made.derive()
    return made, one, two


def test_all_rows_change_at_once(joined: tuple[Made, Source, Source]) -> None:
    made, _, two = joined
    assert made.rows() == [(1, 0), (2, 1)]
    two.trades(1, 2)

    report = made.derive()

    assert (report.whole, report.rows, report.removed, report.total_rows) == (True, 2, 2, 2)
    assert made.rows() == [(1, 1), (2, 2)]
    assert len(list(made.table.scan().plan_files())) == 1


def test_nothing_is_done_where_the_rows_would_be_the_same(joined: tuple[Made, Source, Source]) -> None:
    made, one, _ = joined
    one.trades(3)
    made.derive()
    spec = made.spec.model_copy(update={"table": one.name.table})
    assert compact(spec, made.connections, time.time(), Order(everything=True)).done

    assert not made.derive().done


@pytest.mark.nightly
def test_whatever_happened_to_an_input_counts(joined: tuple[Made, Source, Source]) -> None:
    made, one, two = joined
    two.table.delete("quantity = 2")
    made.derive()
    assert made.rows() == [(1, 0), (2, 0)]
    one.roll_back(one.table.snapshots()[0].snapshot_id)
    assert (made.derive().rows, made.rows()) == (0, [])
    one.catalog.drop_table(one.name.identifier)
    make_source(one.catalog, one.name.table).trades(9)

    assert (made.derive().rolled_back_to, made.rows()) == (None, [(9, 0)])


def test_the_clock_counts_where_the_query_asks_for_it(source: Source, make_table: MakeTable) -> None:
    source.append([{"quantity": n, "at": NOON + timedelta(hours=n)} for n in range(3)])
    made = make_table(f"SELECT quantity FROM {source.name.table} WHERE at > :now", kind="full")
    made.derive(now=NOON.timestamp())
    assert made.rows() == [(1,), (2,)]

    made.derive(now=(NOON + timedelta(hours=1)).timestamp())

    assert made.rows() == [(2,)]
    assert made.ledger.now == (NOON + timedelta(hours=1)).timestamp()


def test_another_query_needs_no_rebuild(source: Source, make_table: MakeTable) -> None:
    source.trades(1)
    made = make_table(f"SELECT quantity FROM {source.name.table}", kind="full")
    made.derive()

    again = made.ask(f"SELECT quantity + 1 AS quantity FROM {source.name.table}")

    assert (again.derive().done, again.rows()) == (True, [(2,)])
