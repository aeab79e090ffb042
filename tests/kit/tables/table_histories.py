"""What may have happened to a table, and the position that it has then."""

from __future__ import annotations

from collections.abc import Callable

from pyiceberg.table import Table

from frazil.landing.position.ledger import EMPTY, Ledger, read_ledger
from frazil.landing.publication import Landed
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.commit import set_properties
from frazil.tables.commits.replacement import Replacement
from frazil.tables.commits.stage import StagedFiles, publish
from frazil.upkeep.compaction.run import put_in_place
from kit.tables.commits import NAME, Lake, landed


def compacted(lake: Lake) -> None:
    put_in_place(
        TableHandle(lake.catalog, NAME), lambda _: Replacement(frozenset()), {"frazil.upkeep": "compaction"}
    )


def redriven(lake: Lake) -> None:
    """A commit that brings nothing of the topic."""
    before = read_ledger(lake.table.metadata)
    assert before
    entry = Ledger(**{**vars(EMPTY), "expired": 1, "landing": "expiring_0"}).beside(before)
    publish(TableHandle(lake.catalog, NAME), _As(StagedFiles(), entry, before))


class _As(Landed):
    def next_entry(self, table: Table) -> Ledger:
        return self.ledger


def rolled_back(lake: Lake) -> None:
    """By another engine, to the first landing: the copy of the position stays."""
    first = lake.table.snapshots()[-2]
    lake.table.manage_snapshots().rollback_to_snapshot(first.snapshot_id).commit()


def rolled_back_and_compacted(lake: Lake) -> None:
    rolled_back(lake)
    compacted(lake)


def forgotten(lake: Lake) -> None:
    """All landings expired; a compaction is the head, and the copy tells the position."""
    compacted(lake)
    gone = [s.snapshot_id for s in lake.table.snapshots() if s.snapshot_id != lake.head]
    lake.table.maintenance.expire_snapshots().by_ids(gone).commit()


def suspended(lake: Lake) -> None:
    set_properties(TableHandle(lake.catalog, NAME), {"frazil.suspended": "here"})


Happen = Callable[[Lake], object]
HISTORIES: dict[str, tuple[Happen, int]] = {
    "two landings": (lambda _: None, 4),
    "three landings": (lambda lake: landed(lake, 4, 5), 6),
    "compacted": (compacted, 4),
    "redriven": (redriven, 4),
    "rolled back": (rolled_back, 2),
    "rolled back, then compacted": (rolled_back_and_compacted, 2),
    "all landings expired": (forgotten, 4),
    "suspended": (suspended, 4),
}
"""What happened to the table, and the position that it has then."""
