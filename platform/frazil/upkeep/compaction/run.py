"""Compaction: small files become files of the right size, and nobody is held up by it.

Round by round Spark's tasks write files anew, which no snapshot names; one commit with operation replace
puts the new files in the place of the old ones on `main`, whatever was landed in the meantime.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.errors import OvertakenError
from frazil.spec.table import AnyTable
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import TableHandle, handle_of
from frazil.tables.catalogs.pyiceberg import transaction
from frazil.tables.commits.commit import Committed, commit
from frazil.tables.commits.ledger import disown_copy
from frazil.tables.commits.leftovers import drop_dead_branches
from frazil.tables.commits.replacement import Replacement, fitted
from frazil.tables.commits.stage import StagedFiles, check_still_there
from frazil.tables.creation import NEWEST_FORMAT
from frazil.tables.format_v3.fields import DeleteKey
from frazil.tables.metadata.manifests import Head, HeadReader
from frazil.tables.metadata.snapshots import UPKEEP
from frazil.tables.rewrites.moved import audit_values
from frazil.tables.writing.presence import Moves
from frazil.upkeep.compaction.arrow import rewrite_by_columns
from frazil.upkeep.compaction.bins import Rule
from frazil.upkeep.compaction.plan import Copies, Round, plan_rounds, read_copies
from frazil.upkeep.compaction.report import Done, became, did, would
from frazil.upkeep.compaction.rewrite import AGAIN, Rewritten, rewrite
from frazil.upkeep.kind import AS_USUAL, Order
from frazil.upkeep.storage import read_present
from frazil.upkeep.work import SEEN, WorkReport

if TYPE_CHECKING:
    from pyiceberg.table import Table, Transaction


Step = Callable[[str], None]

_SHORTER = "Try again; if it takes as long, lower upkeep.max_bytes."

_IDLE = "delete files took no row away any more"

_log = logging.getLogger(__name__)


def compact(
    spec: AnyTable,
    connections: Connections,
    now: float,
    order: Order = AS_USUAL,
    on_step: Step = lambda _: None,
) -> WorkReport:
    """Makes few files of many, and few manifests of many.

    `on_step` is told planned, and of each round written and published.
    """
    with catalog_errors(connections.settings):
        return _Compaction(spec, connections, now, order, on_step).run()


class _Compaction:
    """The parts that the rounds of one run share."""

    def __init__(
        self, spec: AnyTable, connections: Connections, now: float, order: Order, on_step: Step
    ) -> None:
        self._spec = spec
        self._connections = connections
        self._handle = handle_of(spec, connections)
        self._now = now
        self._order = order
        self._step = on_step
        self._reader = HeadReader()
        self._seen = 0  # sequence number of the head that was planned on

    def run(self) -> WorkReport:
        begun, table = time.perf_counter(), self._load()
        if table.metadata.format_version > NEWEST_FORMAT:
            return self._nothing("Its format version is newer than Frazil can write.")
        before = self._reader.read(table)
        if before is None:
            return self._nothing("There is nothing in it yet.")
        self._seen = before.snapshot.sequence_number or 0
        rounds = self._plan(before, read_copies(table.metadata))
        if self._order.dry_run:
            return would(self._handle.name, before, rounds, self._is_crowded(before))
        self._step("planned")
        drop_dead_branches(table, self._now)
        done = self._rounds(rounds, before) + self._gather()
        after = self._reader.read(self._load()) or before
        return did(self._handle.name, before, after, done, time.perf_counter() - begun)

    def _nothing(self, why: str) -> WorkReport:
        return WorkReport(str(self._handle), "compaction", False, why, dry_run=self._order.dry_run)

    def _load(self) -> Table:
        return self._handle.load()

    def _plan(self, head: Head, copies: Copies | None = None, done: int = 0) -> list[Round]:
        target, upkeep = int(self._spec.write.target_file_size), self._spec.upkeep
        rule = Rule.of(upkeep, target, sorts=bool(self._spec.sort_by))
        most = int(upkeep.max_bytes) - done
        everything = self._order.everything
        return plan_rounds(head.files, head.layout, rule, most, copies, everything=everything)

    def _rounds(self, rounds: Sequence[Round], before: Head) -> Done:
        older = [r for r in rounds if r.older]
        # The others wait for what those leave in their partitions: else both would be rewritten once more.
        first = older if older and self._order.everything else rounds
        done = sum((self._round(plan) for plan in first), Done())
        if older and (head := self._reader.read(self._load())):
            # Each file of an older layout left a small one in every partition that it had rows of.
            again = self._plan(head, done=done.bytes)
            known = {f.path for f in before.files}
            done = sum((self._round(left) for plan in again if (left := plan.besides(known))), done)
        return done

    def _round(self, planned: Round) -> Done:
        table = self._load()
        head = self._reader.read(table)
        plan = planned.among({f.path for f in head.files}) if head else None
        if head is None or plan is None:
            return Done(overtaken=1)
        try:
            return self._publish(self._rewritten(table, head, plan), plan)
        except OvertakenError as e:
            _log.info("%s", e)
            return Done(overtaken=1)

    def _rewritten(self, table: Table, head: Head, plan: Round) -> Rewritten:
        about = self._connections, self._spec, table, head, plan
        return rewrite_by_columns(*about) or rewrite(*about)

    def _publish(self, written: Rewritten, plan: Round) -> Done:
        what = written.what
        self._audit(what)
        self._step("written")
        done = Done(
            files=len(what.removed),
            bytes=plan.bytes,
            into=len(what.added),
            written=sum(f.file_size_in_bytes for f in what.added),
            rounds=1,
        )
        committed = self._commit(partial(self._fitted, what), became(done), written.staged)
        self._step("published")
        return replace(done, conflicts=committed.conflicts, snapshot_id=committed.snapshot_id)

    def _audit(self, what: Replacement) -> None:
        """By the present head: an expiry may have taken manifests of the one that the round began with."""

        def read(table: Table) -> None:
            fitted(table, what)  # raises where files of the round are no longer there
            if head := self._reader.read(table):
                deleted = any(f.deletes for f in head.files if f.path in what.paths)
                audit_values(
                    f"A compaction of {self._handle}",
                    table,
                    head.named,
                    what.paths,
                    what.added,
                    Moves(fewer=deleted),  # nobody says how many values those rows had
                )

        read_present(self._handle, read, "Nothing of the round is visible.")

    def _fitted(self, what: Replacement, table: Table) -> Replacement:
        """The same upon the present head, without the delete files whose rows are gone with it."""
        fitting, head = fitted(table, what), self._reader.read(table)
        idle = head.deletions.idle(what.paths, what.sequence or 0) if head else frozenset[DeleteKey]()
        return replace(fitting, idle=idle)

    def _gather(self) -> Done:
        """Writes many manifests as few, with the files as they are, and drops delete files without effect."""
        head = self._reader.read(self._load())
        if head is None or not (self._is_crowded(head) or head.deletions.idle()):
            return Done()

        def what(table: Table) -> Replacement:
            newest = self._reader.read(table) or head
            small = newest.small_manifests if self._is_crowded(newest) else []
            kept = tuple(e for path in small for e in newest.named[path])
            return Replacement(frozenset(small), kept=kept, idle=newest.deletions.idle())

        text = f"{len(head.manifests)} manifests are too many" if self._is_crowded(head) else _IDLE
        committed = self._commit(what, text)
        return Done(conflicts=committed.conflicts, snapshot_id=committed.snapshot_id)

    def _is_crowded(self, head: Head) -> bool:
        """Whether there are more manifests than there may be, and some can be put together."""
        return len(head.manifests) > self._spec.upkeep.manifests and len(head.small_manifests) > 1

    def _commit(
        self, what: Callable[[Table], Replacement], text: str, staged: StagedFiles | None = None
    ) -> Committed:
        why = {"frazil.upkeep-reason": self._order.reason} if self._order.reason else {}
        says = {UPKEEP: "compaction", "frazil.upkeep-did": text, SEEN: str(self._seen), **why}
        says |= staged.summary if staged else {}
        return put_in_place(self._handle, what, says, staged)


def put_in_place(
    handle: TableHandle,
    what: Callable[[Table], Replacement],
    says: Mapping[str, str],
    staged: StagedFiles | None = None,
) -> Committed:
    """Replaces files on `main` by others with the same rows.

    `what` says what is to be done on the present head, and is asked again after each conflict; `says` goes
    into the snapshot's summary.
    """
    from frazil.tables.commits.rewrite import stage_same_rows

    def stage(table: Table) -> Transaction:
        tx = transaction(table)
        disown_copy(tx)
        stage_same_rows(tx, what(table), says)
        if staged:
            check_still_there(handle.name, staged, "compaction", _SHORTER)
        return tx

    return commit(handle, stage, work="compaction", todo=AGAIN)
