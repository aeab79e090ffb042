"""Rows that leave a table: what the commit says of the position, and how often it is tried."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.table import Table

from frazil.errors import CommitConflictError, PositionLostError
from frazil.landing.position.ledger import ledgers
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.leftovers import branches_of_works
from frazil.tables.metadata.manifests import files_matching
from frazil.upkeep.expiry.survivors import Leaving, Says, Taken, take_out
from frazil.upkeep.row_expiry.plan import PastRows
from kit.tables.commits import NAME, Lake, lake_on, position

UNTOLD = Says({"frazil.upkeep": "forgetting"}, lambda *_: {})
"""As of dead letters: they have no ledger of what was forgotten."""


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return lake_on(InMemoryCatalog("memory", warehouse=f"file://{tmp_path}"))


def test_a_position_that_another_engine_rolled_back_is_not_believed_once_the_line_is_gone(lake: Lake) -> None:
    second, first = (s.snapshot_id for s, _ in ledgers(lake.table.metadata))
    lake.table.manage_snapshots().rollback_to_snapshot(first).commit()
    assert position(lake.table) == {0: 2}

    taken(lake)
    assert position(lake.table) == {0: 2}
    lake.table.maintenance.expire_snapshots().by_ids(others(lake.table)).commit()

    assert lake.quantities == []
    assert second not in {s.snapshot_id for s in lake.table.snapshots()}
    with pytest.raises(PositionLostError, match="rolled the table back"):
        position(lake.table)


def test_a_position_that_holds_outlives_the_line(lake: Lake) -> None:
    taken(lake)
    lake.table.maintenance.expire_snapshots().by_ids(others(lake.table)).commit()

    assert lake.quantities == []
    assert position(lake.table) == {0: 4}


def test_files_that_others_take_meanwhile_are_looked_for_anew(lake: Lake) -> None:
    looks: list[int] = []

    def find(table: Table, only: frozenset[str] | None) -> PastRows:
        looks.append(1)
        if len(looks) < 4:
            raise CommitConflictError("Others commit.")
        return everything(table, only)

    done = taken(lake, find)

    assert (done.rows, done.conflicts, lake.quantities) == (4, 3, [])
    assert not branches_of_works(lake.table.metadata)


def taken(lake: Lake, find: Any = None) -> Taken:
    connections: Any = SimpleNamespace(catalog=lake.catalog)
    leaving = Leaving("true", "forgetting", "forgetting_", "Again.", timedelta(days=3))
    return take_out(connections, TableHandle(connections.catalog, NAME), find or everything, UNTOLD, leaving)


def everything(table: Table, _: frozenset[str] | None) -> PastRows:
    matching = files_matching(table, AlwaysTrue())
    return PastRows(whole=matching.entries, named=matching.named)


def others(table: Table) -> list[int]:
    return [s.snapshot_id for s in table.snapshots() if s.snapshot_id != table.metadata.current_snapshot_id]
