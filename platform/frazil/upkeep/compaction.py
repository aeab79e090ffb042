"""Compaction: small files become files of the right size, and nobody is held up by it.

Round by round Spark rewrites files on a branch that only it knows; one commit with operation replace
puts the new files in the place of the old ones on `main`, whatever was landed in the meantime.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.errors import OvertakenError
from frazil.spec.names import TableName, things
from frazil.spec.table import AnyTable
from frazil.tables.branches import COMPACTING, drop_outlived, leave_branch, new_branch
from frazil.tables.catalog import catalog_errors, load_table
from frazil.tables.manifests import HeadReader, Held
from frazil.tables.rewrite import Replacement, put_in_place, upon
from frazil.upkeep.compacted import Done, became, did, nothing, would
from frazil.upkeep.copies import Copies, read_copies
from frazil.upkeep.gathering import gathered, is_crowded
from frazil.upkeep.news import SUMMARY
from frazil.upkeep.packing import Rule
from frazil.upkeep.rewrite import rewrite
from frazil.upkeep.rounds import Round, plan_rounds
from frazil.upkeep.work import WorkReport

if TYPE_CHECKING:
    from pyiceberg.table import Table


__all__ = ["compact"]

Step = Callable[[str], None]

_NEWEST_FORMAT = 2

_log = logging.getLogger(__name__)


def compact(
    spec: AnyTable,
    connections: Connections,
    now: float,
    *,
    dry_run: bool = False,
    everything: bool = False,
    reason: str = "",
    on_step: Step = lambda _: None,
) -> WorkReport:
    """Makes few files of many, and few manifests of many.

    Args:
        spec: The table's spec.
        connections: The outside systems.
        now: Seconds since the epoch.
        dry_run: Tell only what would be done; nothing is touched.
        everything: Rewrite all files, those too that are as they should be: after a change of layout.
        reason: Noted in the snapshots.
        on_step: Told planned, and of each round written and published.

    Raises:
        MissingError: There is no such table.
        AuditFailedError: The new files do not hold the rows of the old ones; nothing of them is visible.
        CommitConflictError: Others kept committing in between.
    """
    with catalog_errors(connections.settings):
        return _Compaction(spec, connections, now, reason, on_step).run(dry_run, everything)


class _Compaction:
    """The parts that the rounds of one run share."""

    def __init__(
        self, spec: AnyTable, connections: Connections, now: float, reason: str, on_step: Step
    ) -> None:
        self._spec = spec
        self._connections = connections
        self._name: TableName = things(spec, connections.settings).table
        self._now = now
        self._reason = reason
        self._step = on_step
        self._reader = HeadReader()

    def run(self, dry_run: bool, everything: bool) -> WorkReport:
        begun, table = time.perf_counter(), self._load()
        if table.metadata.format_version > _NEWEST_FORMAT:
            return nothing(self._name, "Format version 3: PyIceberg can't write it yet.", dry_run=dry_run)
        before = self._reader.read(table)
        if before is None:
            return nothing(self._name, "There is nothing in it yet.", dry_run=dry_run)
        rounds = self._plan(before, read_copies(table.metadata), everything=everything)
        if dry_run:
            return would(self._name, before, rounds, is_crowded(before, self._spec.upkeep.manifests))
        self._step("planned")
        drop_outlived(self._connections.catalog, self._name, table, self._now)
        done = self._rounds(rounds) + self._gather()
        after = self._reader.read(self._load()) or before
        return did(self._name, before, after, done, time.perf_counter() - begun)

    def _load(self) -> Table:
        return load_table(self._connections.catalog, self._name)

    def _plan(
        self, held: Held, copies: Copies | None = None, *, everything: bool = False, done: int = 0
    ) -> list[Round]:
        target, upkeep = int(self._spec.write.target_file_size), self._spec.upkeep
        rule = Rule.of(upkeep, target, sorts=bool(self._spec.sort_by))
        most = int(upkeep.max_bytes) - done
        return plan_rounds(held.files, held.layout, rule, most, copies, everything=everything)

    def _rounds(self, rounds: Sequence[Round]) -> Done:
        done = sum((self._round(plan) for plan in rounds), Done())
        if any(r.older for r in rounds) and (held := self._reader.read(self._load())):
            # Each file of an older layout left a small one in every partition that it had rows of.
            done = sum((self._round(plan) for plan in self._plan(held, done=done.bytes)), done)
        return done

    def _round(self, planned: Round) -> Done:
        held = self._reader.read(self._load())
        plan = planned.among({f.path for f in held.files}) if held else None
        if held is None or plan is None:
            return Done(overtaken=1)
        branch = new_branch(COMPACTING)
        try:
            what = rewrite(self._connections, self._name, held, plan, self._spec.sort_terms, branch)
            self._step("written")
            done = self._publish(what, plan)
        except OvertakenError as e:
            _log.info("%s", e)
            done = Done(overtaken=1)
        finally:
            self._drop(branch)
        return done

    def _publish(self, what: Replacement, plan: Round) -> Done:
        done = Done(
            files=len(what.removed),
            bytes=plan.bytes,
            into=len(what.added),
            written=sum(e.data_file.file_size_in_bytes for e in what.added),
            rounds=1,
        )
        catalog, says = self._connections.catalog, self._says(became(done))
        placed = put_in_place(catalog, self._name, lambda table: upon(table, what), says)
        self._step("published")
        return replace(done, conflicts=what.conflicts + placed.conflicts, snapshot_id=placed.snapshot_id)

    def _gather(self) -> Done:
        """Few manifests of many, with the files as they are."""
        limit, unique = self._spec.upkeep.manifests, new_branch("manifests_")
        held = self._reader.read(self._load())
        if held is None or not is_crowded(held, limit):
            return Done()

        def what(table: Table) -> Replacement:
            return gathered(self._reader.read(table) or held, unique)

        said = f"{len(held.manifests)} manifests are too many"
        placed = put_in_place(self._connections.catalog, self._name, what, self._says(said))
        return Done(conflicts=placed.conflicts, snapshot_id=placed.snapshot_id)

    def _says(self, said: str) -> dict[str, str]:
        more = {"frazil.upkeep-reason": self._reason} if self._reason else {}
        return {SUMMARY: "compaction", "frazil.upkeep-did": said, **more}

    def _drop(self, branch: str) -> None:
        """Leaves no branch behind; where even that fails, a later compaction drops it."""
        leave_branch(self._connections.catalog, self._name, branch)
