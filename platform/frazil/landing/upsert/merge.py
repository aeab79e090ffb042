"""Changes become rows: files that hold a row of a changed key are written anew without it, and no others.

The rows that changes leave are written already. What is kept of the files that go is written, too, and
compared with what was counted before: rows of those files - rows that go.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from frazil.errors import CommitConflictError
from frazil.formats.record import RecordDecoder
from frazil.landing.faults import landing_job
from frazil.landing.plan import Plan
from frazil.landing.position.ledger import Ledger
from frazil.landing.publication import Landed
from frazil.landing.upsert.arrow import Kept, keep_by_columns
from frazil.landing.upsert.changes import Changes, key_types, write_changes
from frazil.landing.upsert.columns import mark_types
from frazil.landing.upsert.matches import (
    KeyRange,
    Matches,
    broadcast_if_few,
    find_matches,
    key_range,
    no_matches,
)
from frazil.landing.upsert.shuffled import emptied, marked
from frazil.landing.upsert.truncates.notes import with_truncates
from frazil.landing.upsert.truncates.truncate import Truncate
from frazil.landing.write import Written
from frazil.quoting import quoted
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from frazil.tables.box import Box
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.stage import StagedFiles, put_in_place
from frazil.tables.metadata.manifests import Candidates, delete_manifests, files_matching
from frazil.tables.metadata.rows import stored_rows
from frazil.tables.metadata.snapshots import is_on_main
from frazil.tables.rewrites.moved import GOES
from frazil.tables.rewrites.remainder import write_rest
from frazil.tables.spark.faults import files_there

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table, Transaction
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Merged(Written):
    """What went through, and what becomes of the table's rows."""

    put: int = 0  # rows of the new files, but for `kept`
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    ended: int = 0  # rows fewer
    removed: frozenset[str] = frozenset()  # paths of the files that go
    vectors: tuple[DataFile, ...] = ()  # of files that stay, and lose rows
    kept: StagedFiles = field(default_factory=StagedFiles)  # files with what is kept of them
    replaces: bool = False  # whether those hold what the other new files do, too
    taken: frozenset[str] = frozenset()  # paths of new files which they hold, too
    deletes: frozenset[str] = frozenset()  # paths of the manifests of delete files that were heeded
    head: int = 0  # the snapshot of `main` that was looked at
    truncates: tuple[Truncate, ...] = ()  # those that the table is to remember

    @property
    def rows(self) -> int:
        """See `Written.rows`."""
        return self.put

    @property
    def changed(self) -> Mapping[str, Any]:
        """See `Written.changed`."""
        merged = self.good - self.inserted + self.ended
        return {"inserted": self.inserted, "updated": self.updated, "deleted": self.deleted, "merged": merged}

    def landed(self, entry: Ledger, base: Ledger | None) -> Landed:
        """See `Written.landed`."""
        own = () if self.replaces else (f for f in self.files.files if f.file_path not in self.taken)
        until = min(self.files.until, self.kept.until)
        whole = replace(self.files, files=(*own, *self.kept.files), until=until, older=self.older)
        return MergeLanded(
            whole, entry, base, self.removed, self.vectors, self.deletes, self.head, self.truncates
        )


@dataclass(frozen=True)
class MergeLanded(Landed):
    """A landing whose files take the place of others."""

    removed: frozenset[str] = frozenset()
    vectors: tuple[DataFile, ...] = ()
    deletes: frozenset[str] = frozenset()
    head: int = 0
    truncates: tuple[Truncate, ...] = ()

    def settle(self, tx: Transaction, table: Table) -> None:
        """See `Landed.settle`: a history remembers truncates."""
        super().settle(tx, table)
        if self.truncates:
            tx.set_properties(with_truncates(table.properties, self.ledger.topic_id, self.truncates))

    def put(self, tx: Transaction, table: Table, summary: Mapping[str, str]) -> None:
        """See `Staged.put`; raises as `put_in_place` does, and where main went back meanwhile."""
        self._same_line(table)
        put_in_place(tx, table, self.removed, self.staged, summary, self.deletes, self.vectors)

    def _same_line(self, table: Table) -> None:
        """The position may be where it was while the rows that the changes were compared with are gone."""
        if not is_on_main(table.metadata, self.head):
            raise CommitConflictError(
                f"{'.'.join(table.name())} was rolled back while a landing merged some of its rows.",
                meaning="Nothing of this landing is visible.",
                todo="Land again.",
            )


def write_upserts(
    settings: Settings, records: DataFrame, decoder: RecordDecoder, spec: TableSpec, table: Table,
    plan: Plan, landing: str,
) -> Merged:  # fmt: skip
    """Writes the planned records to files, and merges them with the table's rows.

    Raises:
        CommitConflictError: Others committed meanwhile; the whole landing is tried again.
        AuditFailedError: The rows that are kept are not as many as they should be.
        FrazilError: See `write_changes`.
    """
    written, put, ends, truncates = write_changes(records, decoder, spec, table, plan, landing)
    key, marks, files = key_types(table, decoder), mark_types(spec, table), written.files.files
    changes = Changes(records.sparkSession, table, spec, key, marks, files, put, ends, truncates)
    merge = _Merge(settings, changes, written, plan)
    return merge.once()


def files_of(table: Table, within: KeyRange, paths: Collection[str]) -> Candidates:
    """Some files of a head, by their paths; `within` is where their rows are that matter."""
    matching = files_matching(table, within.box.expression)
    files = tuple(e for e in matching.entries if e.data_file.file_path in paths)
    return Candidates(files, matching.named)


@dataclass(frozen=True)
class _Merge:
    """One merge, upon a branch of its own."""

    settings: Settings
    changes: Changes
    written: Written
    plan: Plan

    def once(self) -> Merged:
        """Merges into the present head; raises CommitConflictError where others committed meanwhile."""
        table = TableHandle.of(self.changes.table).load()
        with files_there(table):
            return self._into(table)

    def _into(self, table: Table) -> Merged:
        changes = self.changes
        if not changes.count and not changes.truncates:
            return self.outcome(table, Matches({}), StagedFiles())
        if stored_rows(table, table.current_snapshot()):
            within = KeyRange(Box()) if changes.truncates else key_range(changes, table, self.plan)
            matches = find_matches(table, changes, within, self.plan)
        else:
            within, matches = KeyRange(Box()), no_matches(changes)
        if not matches.files and not self._replaces(matches) and not matches.strange_rows:
            return self.outcome(table, matches, StagedFiles())
        if kept := self._by_columns(table, matches, within):
            return replace(self.outcome(table, matches, kept.staged), taken=kept.taken)
        return self.outcome(table, matches, self._kept(table, matches, within))

    def _by_columns(self, table: Table, matches: Matches, within: KeyRange) -> Kept | None:
        if self._replaces(matches):
            return None
        files = files_of(table, within, matches.files)
        return keep_by_columns(self.settings, self.changes, table, matches, files, self.plan)

    def _kept(self, table: Table, matches: Matches, within: KeyRange) -> StagedFiles:
        """Writes what is kept of some files, which stay as they are; and changes, where some are too old."""
        changes, files = self.changes, files_of(table, within, matches.files)
        rest = write_rest(
            changes.spark, table, files, partial(self._judged, matches=matches), landing_job(self.plan),
            changes.spec.upkeep.orphans_after, partial(self._rows, matches=matches),
        )  # fmt: skip
        newer = changes.added - matches.older_rows if self._replaces(matches) else 0
        newer += matches.strange_rows
        stay = matches.bare if changes.marks else 0
        numbers = f"{matches.gone} go, {newer} come, {stay} are marked"
        wanted = rest.rows - matches.gone + newer + stay
        fewer = rest.moves.fewer or bool(changes.truncates)
        moves = replace(rest.moves, fewer=fewer, more=bool(newer or stay))
        return rest.audited(wanted, f"A merge of topic {self.plan.topic}", numbers, "Land again.", moves)

    def _judged(self, state: DataFrame, *, matches: Matches) -> DataFrame:
        """The rows of some files, and of each whether a change takes its place, as `GOES`."""
        from pyspark.sql import functions as F

        key = list(self.changes.key)
        keys = self._newer(self.changes.heads.select(*map(quoted, key)), matches)
        going = broadcast_if_few(keys, self.changes.count).withColumn(GOES, F.lit(True))
        every = state.join(going, key, "left")
        return every.select(
            *map(quoted, state.columns), F.expr(f"coalesce({quoted(GOES)}, false)").alias(GOES)
        )

    def _newer(self, of: DataFrame, matches: Matches) -> DataFrame:
        return of if matches.older is None else of.join(matches.older, list(self.changes.key), "left_anti")

    def _rows(self, state: DataFrame, stay: DataFrame, *, matches: Matches) -> DataFrame:
        """All that the new files hold: of `state` what stays, and more."""
        changes = self.changes
        key, rules = list(changes.key), changes.rules()
        newer = partial(self._newer, matches=matches)
        kept = emptied(stay, rules, landed=True)
        if changes.marks and matches.bare and changes.ends:
            ends = broadcast_if_few(newer(changes.bare), len(changes.ends))
            kept = kept.unionByName(marked(state, ends, rules))
        if matches.strange is not None:
            strange = matches.strange.select(*map(quoted, [*key, *changes.marks]))
            kept = kept.unionByName(strange, allowMissingColumns=True)
        if self._replaces(matches):
            rows = newer(changes.rows)
            rows = (
                rows
                if matches.ids is None
                else rows.join(broadcast_if_few(matches.ids, changes.count), key, "left")
            )
            kept = kept.unionByName(rows, allowMissingColumns=True)
        return kept

    def _replaces(self, matches: Matches) -> bool:
        """Whether the new files can't stay as they are: rows of them go, or take over the ids of others."""
        takes_ids = matches.ids is not None and matches.replaced > 0
        return matches.older_rows > 0 or self.changes.emptied > 0 or takes_ids

    def outcome(self, table: Table, matches: Matches, kept: StagedFiles) -> Merged:
        """What becomes of the rows of a head."""
        return Merged(
            **{f.name: getattr(self.written, f.name) for f in fields(Written)},
            put=self.changes.put,
            inserted=self.changes.added - matches.older_rows - matches.replaced + matches.strange_rows,
            updated=matches.gone - matches.deleted,
            deleted=matches.deleted,
            ended=0 if self.changes.marks else matches.bare,
            removed=frozenset(matches.files),
            kept=kept,
            replaces=self._replaces(matches),
            deletes=delete_manifests(table),
            head=table.metadata.current_snapshot_id or 0,
        )
