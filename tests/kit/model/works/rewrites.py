"""Stand-ins for the jobs of Spark that write files anew: files without some rows, merges, row expiry."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue
from pyspark.errors import PySparkException

import frazil.landing.upsert.arrow as arrow
import frazil.landing.upsert.lane.job as upsert_lane
import frazil.landing.upsert.merge as merge
import frazil.tables.rewrites.remainder as remainder
import frazil.tables.writing.insertion as insertion
import frazil.tables.writing.task as task
import frazil.tables.writing.transfer as transfer
import frazil.upkeep.expiry.survivors as survivors
import frazil.upkeep.forgetting.forget as forget
from frazil.landing.faults import landing_job
from frazil.landing.plan import Plan
from frazil.landing.upsert.changes import Changes
from frazil.landing.upsert.matches import KeyRange, Matches
from frazil.landing.write import Written
from frazil.tables.box import Box
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.stage import StagedFiles
from frazil.tables.commits.works import started_at
from frazil.tables.metadata.manifests import Head, HeadReader
from frazil.tables.spark.faults import Job, spark_job
from frazil.tables.writing.presence import Moves
from frazil.upkeep.forgetting.condition import Condition
from frazil.upkeep.forgetting.letters import Letters
from frazil.upkeep.forgetting.rows import Going
from kit.model.conditions import names
from kit.model.parts.spark import Rows, found_at, written
from kit.model.parts.standins import StandIns
from kit.model.parts.topic import Record

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile, ManifestEntry
    from pyiceberg.table import Table

    from kit.model.parts.edges import Edges

__all__ = ["Rewrites"]

Row = list[Any]


TASK_STEPS = 4
"""Turns that others may get while tasks write."""

LANE_LIVES = 6 * 3600.0
"""Seconds within which files without a branch are published, or never."""


ORPHANS = timedelta(hours=12)
"""Age at which files go that no snapshot names."""


class Uncounted:
    """Rows of old files, some of which were left out; here no file tells how many values it has."""

    def __init__(self, rows: Rows, *_: Any, **__: Any) -> None:
        self.rows = rows

    def counted(self) -> tuple[int, int, Moves]:
        """See `Parted.counted`."""
        return self.rows.of, self.rows.of - len(self.rows), Moves()


class Rewrites(StandIns):
    """Those of all works that write files anew."""

    def __init__(self, edges: Edges) -> None:
        super().__init__(edges)
        self._made: dict[str, DataFile] = {}  # by tasks that merge, until the landing hears of them

    def each(self) -> Iterator[tuple[Any, str, Any]]:
        """See `StandIns.each`."""
        yield merge, "write_changes", self.write_changes
        yield merge, "key_range", lambda *_: KeyRange(Box())
        yield merge, "find_matches", self.find_matches
        yield remainder, "live_frame", self.rows_of_files
        yield insertion, "insert_rows", self.insert_rows
        yield merge._Merge, "_judged", lambda _of, state, matches: state
        yield merge._Merge, "_rows", lambda of, state, _, matches: self.kept(of.changes, state, matches)
        yield remainder, "Parted", Uncounted
        yield arrow, "are_readable", lambda _: self.world.lane
        yield arrow, "_run", self.kept_by_columns
        yield transfer, "files_written", lambda _, returned: returned["files"]
        yield task, "took_of", lambda _: None
        yield upsert_lane.UpsertLane, "_head", self.head_for_tasks
        yield upsert_lane.UpsertLane, "_steps", lambda *of: (of[3], of[5])  # table and plan
        yield upsert_lane, "_run", self.merged_by_tasks
        yield survivors, "judged", lambda rows, sql: self.left(rows, sql)
        yield survivors, "arranged", lambda rows, _: rows
        yield survivors, "samples", lambda _: False
        yield remainder, "rows_by_file", self.rows_by_file
        yield forget, "letters_of_topic", self.letters

    def write_changes(
        self, records: Any, _decoder: Any, _spec: Any, table: Table, plan: Plan, landing: str
    ) -> tuple[Written, int, tuple[str, ...], tuple[()]]:
        """The last change of each key: rows of a file, and where those stand that end one."""
        with spark_job(landing_job(plan)):
            read_records = records()
        last = {record.key: record for record in read_records if not record.bad}.values()
        puts = [[*record.at] for record in last if record.value is not None]
        files = self.insert_rows(puts, table) if puts else ()
        ends = tuple(json.dumps(record.at) for record in last if record.value is None)
        staged = StagedFiles(files, until=started_at(landing) + LANE_LIVES)
        return written(landing, read_records, staged), len(puts), ends, ()

    def find_matches(self, table: Table, changes: Changes, _wanted: Any, plan: Plan) -> Matches:
        """The rows of the head that changes end or replace."""
        anew = bool(plan.ledger and plan.ledger.earlier_logs)
        files: dict[str, int] = {}
        older, deleted, older_rows = set(), 0, 0
        with spark_job(landing_job(plan)):
            heads = self._heads(changes)
            versions = found_at(self.world, table, table.metadata.current_snapshot_id)
        for path, row in versions:
            if (record := self._record(row)) is None or (change := heads.get(record.key)) is None:
                continue
            if anew or change.offset > record.offset:
                files[path] = files.get(path, 0) + 1
                deleted += change.value is None
            else:
                older.add(record.key)
                older_rows += change.value is not None
        return Matches(files, deleted, deleted, older or None, older_rows)  # type: ignore[arg-type]

    def rows_of_files(
        self, _spark: Any, table: Table, entries: Iterable[ManifestEntry], *_: Any, **__: Any
    ) -> Rows:
        """The rows of some files of a head, for works that write these anew."""
        with spark_job(Job("rewrite", str(table.name()), "Nothing of it is visible.", "Try again.")):
            return self.stored_rows(table, entries)

    def stored_rows(self, table: Table, entries: Iterable[ManifestEntry]) -> Rows:
        """The rows of some files of a head."""
        paths = {entry.data_file.file_path for entry in entries}
        placed = found_at(self.world, table, table.metadata.current_snapshot_id, paths)
        return Rows(row for _, row in placed)

    def kept(self, changes: Changes, state: Sequence[Row], matches: Matches) -> list[Row]:
        """What stays of some files; and changes, where some are too old."""
        heads, older = self._heads(changes), matches.older or ()
        newer = {key: record for key, record in heads.items() if key not in older}
        stay = [row for row in state if not (record := self._record(row)) or record.key not in newer]
        puts = [[*record.at] for record in newer.values() if record.value is not None]
        return stay + puts if matches.older_rows else stay

    def kept_by_columns(
        self, _settings: Any, changes: Changes, table: Table, bins: Sequence[arrow.Bin], _origins: Any
    ) -> dict[str, Any]:
        """Tasks that write files anew without a branch, all bins as one."""
        heads = self._heads(changes)
        self.world.stage.step()
        try:
            old = self._rows_of(f for b in bins for f in b.old)
            added = self._rows_of(f for b in bins for f in b.new)
        except FileNotFoundError as e:
            raise PySparkException(f"NotFoundException: {e}") from e
        stay = [row for row in old if not (record := self._record(row)) or record.key not in heads]
        file = self.world.write_rows(table, self.world.cut(stay + added))
        self.world.stage.step()
        return {
            "rows": pa.array([len(old)]),
            "gone": pa.array([len(old) - len(stay)]),
            "values_gone": pa.array(["{}"]),
            "files": (file,),
        }

    def head_for_tasks(self, _reading: Any, _before: Any, table: Table, plan: Plan) -> Head | None:
        """The head, where tasks merge alone; in half of the landings Spark compares."""
        by_tasks = self.world.lane and not self.world.stage.dice.choose(2, 0.5)
        return HeadReader(()).read(table) if by_tasks else None

    def merged_by_tasks(self, reading: Any, table: Table, plan: Plan, *_: Any) -> pa.Table:
        """Tasks that decode changes and merge them with the head, without a branch; all partitions as one."""
        read = reading.frame()
        sent = {record.key: record for record in read if not record.bad}
        last = {record.key: record for record in self.world.cut(list(sent.values()))}
        by_path: dict[str, list[Row]] = {}
        for path, row in found_at(self.world, table, table.metadata.current_snapshot_id):
            by_path.setdefault(path, []).append(row)
        anew = bool(plan.ledger and plan.ledger.earlier_logs)
        gone, older = [], set()
        for path, row in ((path, row) for path, rows in by_path.items() for row in rows):
            if (record := self._record(row)) is None or (change := last.get(record.key)) is None:
                continue
            if anew or change.offset > record.offset:
                gone.append((path, row, change))
            else:
                older.add(record.key)
        added = [[*c.at] for c in last.values() if c.key not in older and c.value is not None]
        removed = sorted({path for path, _, _ in gone})
        before = [row for path in removed for row in by_path[path]]
        going = [row for _, row, _ in gone]
        rows = [row for row in before if row not in going] + added
        files = [self.world.write_rows(table, self.world.cut(rows))] if rows else []
        self.world.stage.step()
        self._made |= {file.file_path: file for file in files}
        deleted = sum(change.value is None for _, _, change in gone)
        counts = {
            "received": len(last), "added": len(added), "rows": len(before), "gone": len(gone),
            "left_out": len(gone), "deleted": deleted, "removed": removed, "values": {}, "values_gone": {},
            "values_added": {}, "vectors": [],
        }  # fmt: skip
        report = {"sent": len(sent), "read": [[*record.at] for record in read], "in_rows": {}}
        return pa.table({
            "report": [json.dumps(report), None], "bad": pa.nulls(2), "merge": [None, json.dumps(counts)],
            "files": [None, [file.file_path for file in files]],
        })  # fmt: skip

    def written_by_tasks(
        self,
        reports: Sequence[Mapping[str, Any]],
        _bad: Any,
        paths: Sequence[str],
        _table: Any,
        landing: str,
        _took: float | None = None,
    ) -> Written:
        """What the first step says of records, with the files of the second."""
        read = [self.world.topic.ever[log, p, at] for report in reports for log, p, at in report["read"]]
        files = tuple(self._made.pop(path) for path in paths)
        return written(landing, read, StagedFiles(files, until=started_at(landing) + LANE_LIVES))

    def _rows_of(self, files: Iterable[DataFile]) -> list[Row]:
        return [row for file in files for row in self.world.store.rows_of(file.file_path)]

    def insert_rows(self, rows: Sequence[Row], table: Table) -> tuple[DataFile, ...]:
        """Tasks that write rows; one may be missing, and they take their time."""
        self.world.stage.step()
        file = self.world.write_rows(table, self.world.cut(list(rows)))
        for _ in range(TASK_STEPS):
            self.world.stage.step()
        return (file,)

    def left(self, rows: Rows, sql: str) -> Rows:
        """Rows without those that go."""
        return Rows((row for row in rows if not names(self.world.topic, sql, row)), len(rows))

    def rows_by_file(self, _spark: Any, table: Table, sql: str, job: Job) -> dict[str, int]:
        """Of the head, by the files that hold them."""
        with spark_job(job):
            versions = found_at(self.world, table, table.metadata.current_snapshot_id)
        return Counter(path for path, row in versions if names(self.world.topic, sql, row))

    def letters(self, _spec: Any, _connections: Any, table: Table, condition: Condition) -> Letters | None:
        """All can be decoded: a condition tells which ones go."""
        self.world.stage.step()
        handle = TableHandle.of(table).dead_letters
        if handle.name.identifier not in self.world.catalog.tables:
            return None
        return Letters(Going(handle, condition.sql(), AlwaysTrue(), ORPHANS))

    def _record(self, row: Row) -> Record | None:
        log, partition, offset = row
        return self.world.topic.ever.get((log, partition, offset))

    def _heads(self, changes: Changes) -> dict[int, Record]:
        """The last change of each key, as the new files and the ends tell."""
        try:
            rows = self._rows_of(changes.files)
        except FileNotFoundError as e:
            raise PySparkException(f"NotFoundException: {e}") from e
        ends = [json.loads(end) for end in changes.ends]
        return {record.key: record for row in [*rows, *ends] if (record := self._record(row))}
