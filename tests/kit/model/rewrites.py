"""Stand-ins for the jobs of Spark that write files anew: files without some rows, merges, row expiry."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import frazil.landing.upsert.merge as merge
import frazil.tables.remainder as remainder
import frazil.upkeep.survivors as survivors
from frazil.landing.faults import landing_job
from frazil.landing.plan import Plan
from frazil.landing.upsert.changes import Changes
from frazil.landing.upsert.matches import KeyRange, Matches
from frazil.landing.write import PLAN, Written
from frazil.tables.box import Box
from frazil.tables.faults import Job, spark_job
from frazil.tables.manifests import added_files
from kit.model.spark import Rows, append_to, found_at, plan_text, written
from kit.model.topic import Record

if TYPE_CHECKING:
    from pyiceberg.table import Table

    from kit.model.edges import Edges
    from kit.model.world import World

__all__ = ["Rewrites"]

Row = list[Any]


class Rewrites:
    """Of the round that is played."""

    def __init__(self, edges: Edges) -> None:
        self._edges = edges

    @property
    def world(self) -> World:
        """Of the present round."""
        assert self._edges.world
        return self._edges.world

    def stand_ins(self) -> Iterator[tuple[Any, str, Any]]:
        """Each with the module and the name whose place it takes."""
        yield merge, "write_changes", self.write_changes
        yield merge, "key_range", lambda *_: KeyRange(Box())
        yield merge, "find_matches", self.find_matches
        yield remainder, "at_snapshot", self.at_snapshot
        yield remainder, "aggregated", lambda rows, *_: {"rows": len(rows)}
        yield remainder, "append_rows", self.append_rows
        yield merge._Merge, "_rows", lambda of, state, matches: self.kept(of.changes, state, matches)
        yield survivors, "_append", self.leave_out

    def write_changes(
        self, records: Any, _decoder: Any, _spec: Any, name: Any, table: Table, plan: Plan, branch: str
    ) -> tuple[Written, int, tuple[str, ...]]:
        """The last change of each key: rows upon the branch, and where those stand that end one."""
        with spark_job(landing_job(plan, table, branch)):
            found = records()
            last = {record.key: record for record in found if not record.bad}.values()
            puts = [[*record.at] for record in last if record.value is not None]
            append_to(self.world, name, branch, self.world.cut(puts), {PLAN: plan_text(plan)})
        ends = tuple(json.dumps(record.at) for record in last if record.value is None)
        return written(branch, found), len(puts), ends

    def find_matches(self, table: Table, changes: Changes, _wanted: Any, plan: Plan) -> Matches:
        """The rows of the head that changes end or replace."""
        anew, heads = bool(plan.upon and plan.upon.earlier_logs), self._heads(table, changes)
        files: dict[str, int] = {}
        older, deleted, older_rows = set(), 0, 0
        with spark_job(landing_job(plan)):
            found = found_at(self.world, table, table.metadata.current_snapshot_id)
        for path, row in found:
            if (record := self._record(row)) is None or (change := heads.get(record.key)) is None:
                continue
            if anew or change.offset > record.offset:
                files[path] = files.get(path, 0) + 1
                deleted += change.value is None
            else:
                older.add(record.key)
                older_rows += change.value is not None
        return Matches(files, deleted, deleted, older or None, older_rows)  # type: ignore[arg-type]

    def at_snapshot(self, _spark: Any, name: Any, snapshot_id: int) -> Rows:
        """The rows of any branch."""
        table = self.world.catalog.load_table(name.identifier)
        with spark_job(Job("landing", str(name), "Nothing of it is visible.", "Try again.")):
            return Rows(row for _, row in found_at(self.world, table, snapshot_id))

    def kept(self, changes: Changes, state: Sequence[Row], matches: Matches) -> list[Row]:
        """What stays of some files; and changes, where some are too old."""
        table = self.world.catalog.load_table(changes.name.identifier)
        heads, older = self._heads(table, changes), matches.older or ()
        newer = {key: record for key, record in heads.items() if key not in older}
        stay = [row for row in state if not (record := self._record(row)) or record.key not in newer]
        puts = [[*record.at] for record in newer.values() if record.value is not None]
        return stay + puts if matches.older_rows else stay

    def append_rows(
        self, rows: Sequence[Row], name: Any, branch: str, says: Mapping[str, str], **_: Any
    ) -> None:
        """Appends to a branch; a row may be missing."""
        append_to(self.world, name, branch, self.world.cut(list(rows)), says)

    def leave_out(self, _: Any, name: Any, leaving: Any, branch: str, made: Any) -> tuple[int, int]:
        """Rows of some files without those that are past."""
        table = self.world.catalog.load_table(name.identifier)
        cutoff = int(re.findall(r"timestamp_millis\((\d+)\)", leaving.sql)[-1]) / 1000
        with spark_job(Job(leaving.work, str(name), "No row is lost or doubled.", "Try again.")):
            rows = [row for _, row in found_at(self.world, table, made.snapshot_id)]
            left = [row for row in rows if not (record := self._record(row)) or record.time >= cutoff]
            append_to(self.world, name, branch, self.world.cut(left), {PLAN: leaving.work})
        return len(rows), len(rows) - len(left)

    def _record(self, row: Row) -> Record | None:
        log, partition, offset = row
        return self.world.topic.ever.get((log, partition, offset))

    def _heads(self, table: Table, changes: Changes) -> dict[int, Record]:
        """The last change of each key, as the branch and the ends tell."""
        tip = table.metadata.snapshot_by_id(changes.tip)
        files = added_files(table, tip) if tip else ()
        rows = [row for file in files for row in self.world.store.rows_of(file.file_path)]
        ends = [json.loads(end) for end in changes.ends]
        return {record.key: record for row in [*rows, *ends] if (record := self._record(row))}
