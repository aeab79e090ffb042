"""Guards of every commit, and of the branches of works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyiceberg.table import Transaction
from pyiceberg.table.update import AssertRefSnapshotId

from frazil.tables.commits import commit, ledger, rollback, stage
from kit.model.guards.guard import LANDERS, Guard, Out, nothing, put
from kit.model.parts.catalog import ModelCatalog

__all__ = ["COMMITS"]

ZOMBIE = {"first": ("land",), "second": ("seven hours", "seven hours", "land", "orphans")}


def without_requirement(of: Callable[[str], bool]) -> Out:
    """Commits forget what they require of some branches."""
    real = commit._sent

    def sent(table: Any, tx: Transaction) -> Any:
        kept = (r for r in tx._requirements if not (isinstance(r, AssertRefSnapshotId) and of(r.ref)))
        tx._requirements = tuple(kept)
        return real(table, tx)

    def out(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(commit, "_sent", sent)
        real_init = ModelCatalog.__init__

        def init(self: ModelCatalog, *args: Any) -> None:
            real_init(self, *args)
            self.checks_numbers = False

        patch.setattr(ModelCatalog, "__init__", init)

    return out


COMMITS: tuple[Guard, ...] = (
    Guard("commits are bound to the head of main", without_requirement(lambda ref: ref == "main"), LANDERS),
    Guard("a lost answer is looked for", put(commit._Sending, "done", lambda *_: None), LANDERS),
    Guard(
        "no file is deleted before the outcome is known",
        put(commit, "_sent", lambda table, tx: tx.commit_transaction()),
        LANDERS,
    ),
    Guard(
        "files without a branch are published while no orphan removal can have taken them",
        put(stage, "check_still_there", nothing),
        ZOMBIE,
        lane=True,
    ),
    Guard(
        "files of a merge without a branch are published while no orphan removal can have taken them",
        put(stage, "check_still_there", nothing),
        {"first": ("land",), "second": ("seven hours", "seven hours", "orphans")},
        lane=True,
        keyed=True,
    ),
    Guard(
        "the copy of the position counts only while main has not gone back behind it",
        put(ledger, "_is_newer", lambda _: False),
        {"first": ("land",), "engine": ("append", "append", "turn back", "trim")},
    ),
    Guard(
        "a rollback takes the copy of the position back, too",
        put(rollback, "rewind", nothing),
        {"first": ("land", "roll back"), "engine": ("append", "trim")},
    ),
)
