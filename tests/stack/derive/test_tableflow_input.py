"""A table is derived from one that Tableflow lands, which has no ledger and is never written to."""

from __future__ import annotations

from frazil.connections import Connections
from kit.deployments.tableflow import Tableflow, quantity_of
from kit.derived.made import MakeTable


def test_what_tableflow_commits_is_derived_once_and_its_table_stays_as_it_is(
    connections: Connections, make_table: MakeTable, fresh_name: str
) -> None:
    tableflow = Tableflow(connections.catalog, "", (f"lkc-{fresh_name}", fresh_name))
    tableflow.enable()
    tableflow.commit({0: (0, 30), 1: (5, 20)})
    made = make_table(f"SELECT quantity FROM `{tableflow.name[0]}`.`{fresh_name}` WHERE side = 'BUY'")

    assert made.derive().rows == 45
    tableflow.commit({0: (30, 40)})
    before = tableflow.table.metadata_location
    report = made.derive()

    assert (report.rows, report.input_rows) == (10, 10)
    places = [(0, at) for at in range(40)] + [(1, at) for at in range(5, 20)]
    assert sorted(q for (q,) in made.rows("quantity")) == sorted(quantity_of(*place) for place in places)
    assert not made.derive().done
    assert tableflow.table.metadata_location == before
