"""The engine's guards, each with what takes it out: without any one of them a round must be broken."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pyiceberg.table import Transaction
from pyiceberg.table.update import AssertRefSnapshotId

from frazil.landing import dead_letters, history, land, redrive
from frazil.landing.landed import Landed, Redriven
from frazil.landing.ledger import Ledger
from frazil.landing.upsert import merge
from frazil.tables import commit, ledger, replacement, rollback, stage
from frazil.tables.manifests import HeadReader
from frazil.tables.pyiceberg import transaction
from frazil.upkeep import expiry, orphans
from frazil.upkeep.compaction import rewrite, run
from kit.model.catalog import ModelCatalog
from kit.model.edges import Edges
from kit.model.round import Case, Works, play
from kit.model.stage import Dice

__all__ = ["GUARDS", "Guard"]

Out = Callable[[pytest.MonkeyPatch], None]

LANDERS = {"first": ("land",), "second": ("land",)}
ZOMBIE = {"first": ("land",), "second": ("seven hours", "seven hours", "land", "orphans")}
DROPPED = {"first": ("redrive",), "second": ("land", "seven hours", "land", "expire")}
COMPACTIONS = {"first": ("compact",), "second": ("compact",), "third": ("land",)}


@dataclass(frozen=True)
class Guard:
    """One guard.

    Args:
        what: It, in words.
        out: Takes it out.
        works: Who does what in the rounds that try it.
        lane: Whether landings write files without a branch; None: now and then.
        spoils: Odds that a reader or a writer does wrong.
        keyed: Whether the table has a row per key.
    """

    what: str
    out: Out
    works: Works
    lane: bool | None = None
    spoils: float = 0.0
    keyed: bool = False

    def breaks(self, edges: Edges, seed: int) -> Exception | None:
        """What was broken in a round of a seed, if anything was."""
        lane = seed % 2 == 1 if self.lane is None else self.lane
        lane = lane and not self.keyed
        case = Case(self.works, seed=seed, lane=lane, spoils=self.spoils, keyed=self.keyed)
        try:
            play(edges, case, Dice(random=random.Random(seed)))
        except Exception as e:  # noqa: BLE001 - files that are gone break a work in their own way
            return e
        return None


def put(owner: Any, name: str, value: Any) -> Out:
    """Puts something else in a name's place."""
    return lambda patch: patch.setattr(owner, name, value)


def nothing(*_: Any, **__: Any) -> None:
    """Does nothing."""


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


def _read_only(plan: Any, written: Any, rows: int, held: Any) -> None:
    if rows != written.rows:
        raise land.AuditFailedError("rows", meaning="Nothing of it is visible.")


def _unbound(self: Landed, name: Any, table: Any) -> Ledger:
    return self.ledger.following(ledger_of(table))


def _always_anew(catalog: Any, name: Any, branch: str) -> None:
    def staged(table: Any) -> Transaction:
        tx = transaction(table)
        commit.add_branch(tx, branch, table.current_snapshot().snapshot_id)
        return tx

    commit.commit(catalog, name, staged, work="branch")


def ledger_of(table: Any) -> Ledger | None:
    """The newest."""
    return Ledger.newest(table.metadata)


def _unasserted(tx: Transaction, ids: Any) -> None:
    from pyiceberg.table.update import RemoveSnapshotsUpdate

    tx._apply((RemoveSnapshotsUpdate(snapshot_ids=list(ids)),))


def _publish_any(tx: Transaction, name: Any, branch: str, tip: int) -> None:
    if branch in tx.table_metadata.refs:
        commit.remove_ref(tx, branch)


def _count_nothing(plan: Any, written: Any, rows: int, held: Any) -> None:
    if written.tally != sum(held.values(), land.Tally()):
        raise land.AuditFailedError("tally", meaning="Nothing of it is visible.")


def _put_any(tx: Transaction, table: Any, removed: Any, staged: Any, said: Any) -> None:
    from frazil.tables.rewrite import stage_new_rows

    stage_new_rows(tx, replacement.replacing(HeadReader().read(table).named, removed, staged.files), said)


GUARDS: tuple[Guard, ...] = (
    Guard("commits are bound to the head of main", without_requirement(lambda ref: ref == "main"), LANDERS),
    Guard("a branch is published as it was audited", put(stage, "publish_branch", _publish_any), DROPPED),
    Guard("a lost answer is looked for", put(commit._Sending, "done", lambda *_: None), LANDERS),
    Guard(
        "no file is deleted before the outcome is known",
        put(commit, "_sent", lambda table, tx: tx.commit_transaction()),
        LANDERS,
    ),
    Guard("a landing follows the position that it was planned from", put(Landed, "upon", _unbound), LANDERS),
    Guard("what was read is what the topic holds", put(land, "audit", _read_only), LANDERS, spoils=0.3),
    Guard(
        "the files hold the rows that were counted",
        put(land, "audit", _count_nothing),
        LANDERS,
        lane=False,
        spoils=0.3,
    ),
    Guard(
        "the copy of the position counts only while main has not gone back behind it",
        put(ledger, "_is_newer", lambda _: False),
        {"first": ("land",), "engine": ("append", "append", "turn back", "forget")},
    ),
    Guard(
        "a compaction ends a copy of a position that main does not hold",
        put(run, "disown_copy", nothing),
        {"first": ("land", "compact", "land"), "engine": ("turn back", "forget")},
    ),
    Guard(
        "the topic that was read is the one that was planned",
        put(land, "refuse_other_topic", nothing),
        {"first": ("land",), "second": ("recreate",)},
    ),
    Guard(
        "a topic that was made again is another one",
        put(history.History, "_is_other", property(lambda _: False)),
        {"first": ("recreate", "produce", "land")},
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
        "a redrive looks at the head that it is bound to",
        put(Redriven, "_held", lambda *_: False),
        {"first": ("redrive",), "second": ("redrive",)},
    ),
    Guard(
        "a redrive is dropped where the position went back",
        put(Redriven, "_passed", lambda *_: False),
        {"first": ("redrive",), "second": ("roll back",), "third": ("roll back",)},
    ),
    Guard(
        "of two landings one keeps the dead letters",
        put(dead_letters._Kept, "upon", _unbound),
        LANDERS,
    ),
    Guard(
        "dead letters that a dead landing kept are not kept again",
        put(dead_letters, "_kept", lambda *_: set()),
        LANDERS,
    ),
    Guard(
        "dead letters are kept before the landing is visible",
        put(land, "keep_dead_letters", nothing),
        LANDERS,
    ),
    Guard(
        "a snapshot expires only while no branch comes to name it",
        put(expiry, "remove_snapshots", _unasserted),
        {"first": ("land",), "second": ("expire",), "third": ("roll back",)},
    ),
    Guard(
        "files without a branch are published while no orphan removal can have taken them",
        put(stage, "_still_there", nothing),
        ZOMBIE,
        lane=True,
    ),
    Guard(
        "a compaction is put upon files that are still there",
        put(run, "upon", lambda _, what: what),
        COMPACTIONS,
    ),
    Guard(
        "a compaction is dropped where rows were deleted since",
        put(replacement, "_refuse_new_deletes", nothing),
        {"first": ("compact",), "engine": ("delete",)},
    ),
    Guard(
        "a rollback takes the copy of the position back, too",
        put(rollback, "rewind", nothing),
        {"first": ("land", "roll back"), "engine": ("append", "forget")},
    ),
    Guard(
        "a branch whose answer was lost is found made", put(land, "branch_from_head", _always_anew), LANDERS
    ),
    Guard("what a compaction wrote is counted", put(rewrite, "audit_rows", nothing), COMPACTIONS, spoils=0.3),
    Guard(
        "files of a work that has not yet named them are no orphans",
        put(orphans, "_begun", lambda _: float("inf")),
        {"first": ("land",), "second": ("seven hours", "seven hours", "orphans")},
        lane=False,
    ),
    Guard(
        "the rows of a redrive are counted",
        put(redrive, "audit_rows", nothing),
        {"first": ("redrive",)},
        spoils=0.3,
    ),
    Guard(
        "a merge replaces files that are still there",
        put(merge, "put_in_place", _put_any),
        {"first": ("land",), "second": ("compact",)},
        keyed=True,
    ),
    Guard(
        "a merge is dropped where rows were deleted since",
        put(merge, "delete_manifests", lambda _: frozenset()),
        {"first": ("land", "land"), "engine": ("delete", "delete")},
        keyed=True,
    ),
    Guard(
        "a merge is put upon the line that it was merged with",
        put(merge.MergeLanded, "_same_line", nothing),
        {"first": ("land",), "second": ("land", "roll back")},
        keyed=True,
    ),
    Guard(
        "the rows that a merge keeps are counted",
        put(merge, "audit_rows", nothing),
        LANDERS,
        spoils=0.3,
        keyed=True,
    ),
)
"""In the order of a landing."""
