"""Guards of every commit, and of the branches of works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyiceberg.table import Transaction
from pyiceberg.table.update import AssertRefSnapshotId

from frazil.landing import land
from frazil.landing.publication import Landed
from frazil.tables import branches, commit, ledger, rollback, stage
from frazil.tables.pyiceberg import transaction
from kit.model.catalog import ModelCatalog
from kit.model.guards.guard import LANDERS, Guard, Out, nothing, put

__all__ = ["COMMITS"]

DROPPED = {"first": ("redrive",), "second": ("land", "seven hours", "land", "expire")}
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


def _always_anew(catalog: Any, name: Any, branch: str) -> None:
    def staged(table: Any) -> Transaction:
        tx = transaction(table)
        commit.add_branch(tx, branch, table.current_snapshot().snapshot_id)
        return tx

    commit.commit(catalog, name, staged, work="branch")


def _publish_any(tx: Transaction, name: Any, branch: str, tip: int) -> None:
    if branch in tx.table_metadata.refs:
        commit.remove_ref(tx, branch)


COMMITS: tuple[Guard, ...] = (
    Guard("commits are bound to the head of main", without_requirement(lambda ref: ref == "main"), LANDERS),
    Guard("a branch is published as it was audited", put(stage, "publish_branch", _publish_any), DROPPED),
    Guard("a lost answer is looked for", put(commit._Sending, "done", lambda *_: None), LANDERS),
    Guard(
        "no file is deleted before the outcome is known",
        put(commit, "_sent", lambda table, tx: tx.commit_transaction()),
        LANDERS,
    ),
    Guard(
        "a branch whose answer was lost is found made", put(land, "branch_from_head", _always_anew), LANDERS
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
    Guard(
        "branches of dead works go after six hours",
        put(land, "drop_outlived", nothing),
        {"first": ("compact",), "second": ("land",)},
    ),
    Guard(
        "a landing drops the branches of those it overtook",
        put(Landed, "rivals", ""),
        {"first": ("land",), "second": ("land",)},
    ),
    Guard("who gives up leaves no branch", put(land, "leave_branch", nothing), LANDERS),
    Guard(
        "a branch is made of the head that there is, which nobody expires",
        put(branches, "assert_ref", lambda tx, ref, id_: ref == "main" or commit.assert_ref(tx, ref, id_)),
        {"first": ("redrive",), "second": ("land", "expire")},
    ),
)
