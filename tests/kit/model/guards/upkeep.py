"""Guards of compaction, of expiry, of orphan removal, and of forgetting."""

from __future__ import annotations

from typing import Any

from pyiceberg.table import Transaction
from pyiceberg.table.update import RemoveSnapshotsUpdate

from frazil.tables.commits import replacement
from frazil.tables.rewrites import remainder
from frazil.upkeep.compaction import arrow, rewrite, run
from frazil.upkeep.expiry import expiry, survivors
from frazil.upkeep.forgetting import rows
from kit.model.guards.guard import Guard, nothing, put

__all__ = ["UPKEEP"]

COMPACTIONS = {"first": ("compact",), "second": ("compact",), "third": ("land",)}


def _unasserted(tx: Transaction, ids: Any) -> None:
    tx._apply((RemoveSnapshotsUpdate(snapshot_ids=list(ids)),))


def _found_once(self: rows._Finder, table: Any, _only: Any = None) -> Any:
    self.matching = self._find(table) if self.matching is None else self.matching
    return self.matching


UPKEEP: tuple[Guard, ...] = (
    Guard(
        "a compaction ends a copy of a position that main does not hold",
        put(run, "disown_copy", nothing),
        {"first": ("land", "compact", "land"), "engine": ("turn back", "trim")},
    ),
    Guard(
        "a snapshot expires only while no branch comes to name it",
        put(expiry, "remove_snapshots", _unasserted),
        {"first": ("land",), "second": ("expire",), "third": ("roll back",)},
    ),
    Guard(
        "a compaction is put on files that are still there",
        put(run, "fitted", lambda _, what: what),
        COMPACTIONS,
    ),
    Guard(
        "a compaction is dropped where rows were deleted since",
        put(replacement, "_refuse_new_deletes", nothing),
        {"first": ("compact",), "engine": ("delete",)},
    ),
    Guard("what a compaction wrote is counted", put(rewrite, "audit_rows", nothing), COMPACTIONS, spoils=0.3),
    Guard(
        "what a compaction by columns wrote is counted",
        put(arrow, "_audit", nothing),
        COMPACTIONS,
        lane=True,
        spoils=0.3,
    ),
    Guard(
        "files of a compaction by columns are put in place while no orphan removal can have taken them",
        put(run, "check_still_there", nothing),
        {"first": ("compact",), "second": ("seven hours", "seven hours", "orphans")},
        lane=True,
    ),
    Guard(
        "what stays of files is put in place while no orphan removal can have taken it",
        put(survivors, "check_still_there", nothing),
        {"first": ("compact", "forget"), "second": ("seven hours", "seven hours", "orphans")},
    ),
    Guard(
        "what stays of files is put in place only while these are there",
        put(survivors.Survivors, "fit", lambda *_: True),
        {"first": ("forget",), "second": ("compact",)},
    ),
    Guard(
        "the rows that stay are counted",
        put(remainder, "audit_rows", nothing),
        {"first": ("compact", "forget")},
        spoils=0.3,
    ),
    Guard(
        "rows to be forgotten are looked for in the head that the commit is bound to",
        put(rows._Finder, "__call__", _found_once),
        {"first": ("forget",), "second": ("produce", "land")},
    ),
)
