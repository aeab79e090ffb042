"""Every change of a key becomes a version of its row, and ends the one before it, in one commit.

The new versions are written already, ended by each other. Of the table those rows are
looked at that have one of their keys and hold until the earliest of them or later: only such a row can end
another way now, or tell how a new one ends. So a landing opens what holds now, and what ended since: however
long the history is. Files with a version that ends another way are written anew, and no others. A truncate
has no key: a landing of one looks at all versions that hold until its time or later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

from frazil.formats.columns.columns import names_by_word
from frazil.formats.record import OK, RecordDecoder
from frazil.landing.decoding import with_decoded
from frazil.landing.faults import landing_job
from frazil.landing.plan import Plan
from frazil.landing.upsert.changes import insert_dealt, key_types, with_no_ids
from frazil.landing.upsert.key import key_columns
from frazil.landing.upsert.matches import KeyRange, broadcast_if_few, range_of
from frazil.landing.upsert.merge import Merged, files_of
from frazil.landing.upsert.truncates.notes import Truncates, known_truncates
from frazil.landing.upsert.truncates.observed import TRUNCATE_TEXTS, with_truncate_texts
from frazil.landing.upsert.truncates.truncate import Truncate, read_truncates
from frazil.landing.upsert.validity import BEFORE, NEW, judged, validity_columns
from frazil.landing.write import Written, columns_sql, counters, written_by
from frazil.quoting import quoted
from frazil.spec.topic import TableSpec
from frazil.tables.box import Box, Side
from frazil.tables.catalogs.handle import TableHandle, name_of
from frazil.tables.commits.stage import StagedFiles
from frazil.tables.format_v3.fields import LAST_UPDATED_COLUMN
from frazil.tables.metadata.manifests import delete_manifests
from frazil.tables.metadata.rows import stored_rows
from frazil.tables.reading.frame import files_frame
from frazil.tables.rewrites import moved
from frazil.tables.rewrites.remainder import write_rest
from frazil.tables.spark.faults import files_there, spark_job
from frazil.tables.spark.session import Watched, at_snapshot, samples
from frazil.tables.writing.presence import Moves

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame, SparkSession

_FILE, _CHANGED = "$frazil_file", "$frazil_changed"


def write_versions(
    records: DataFrame, decoder: RecordDecoder, spec: TableSpec, table: Table, plan: Plan,
    landing: str,
) -> Merged:  # fmt: skip
    """Writes the planned records to files as versions, and ends those that the table has of their keys.

    Raises:
        CommitConflictError: Others committed meanwhile; the whole landing is tried again.
        AuditFailedError: The files written anew do not hold as many rows as they should.
        FrazilError: See `spark_job`.
    """
    written, counts, truncates = _write_new(records, decoder, spec, table, plan, landing)
    key = key_types(table, decoder)
    new = _Versions(
        records.sparkSession, table, spec, key, counts["put"], bool(counts["unsure"]), counts["oldest"],
        truncates, written, plan,
    )  # fmt: skip
    now = TableHandle.of(table).load()
    with files_there(now):
        return new.into(now)


def _write_new(
    records: DataFrame, decoder: RecordDecoder, spec: TableSpec, table: Table, plan: Plan, landing: str
) -> tuple[Written, Mapping[str, Any], tuple[Truncate, ...]]:
    """Writes the versions to files, as they are if the table has none of their keys, without truncates.

    Returns:
        What went through; how many versions were `put`, the `oldest` of their timestamps, and how many
        tombstones may be `unsure`: they say nothing new if what the table has before them is a delete. And
        the truncates.
    """
    job, writers, twice = landing_job(plan), decoder.value.writers, samples(table)
    op, timestamp = (quoted(names_by_word(spec)[word]) for word in ("op", "timestamp"))
    measures = {
        "put": "count(1)",
        "oldest": f"unix_micros(min({timestamp}))",
        "unsure": f"count_if({op} IS NULL AND {quoted(BEFORE)} IS NULL)",
    }
    counted = counters(writers, spec) | {"truncates": TRUNCATE_TEXTS}
    with spark_job(job):
        decoded = Watched(
            with_truncate_texts(with_decoded(records, decoder), decoder), counted, job, twice=twice
        )
        rows = decoded.rows.where(f"{OK} AND NOT {decoder.truncates}").selectExpr(
            *columns_sql(spec, table, decoder), f"true AS {quoted(NEW)}"
        )
        judged_rows = judged(rows, spec, list(key_types(table, decoder)))
        versions = Watched(judged_rows, measures, job, twice=twice)
        columns = [f.name for f in table.schema().fields]
        files = insert_dealt(_settled(versions.rows, spec, columns), spec, table, landing)
    truncates = read_truncates(decoded.measured["truncates"] or ())
    return replace(written_by(landing, writers, decoded.measured), files=files), versions.measured, truncates


def _settled(rows: DataFrame, spec: TableSpec, columns: list[str], where: str = "true") -> DataFrame:
    """Rows of the table's columns; those for which `where` is true with what was found of them."""
    updates = {own: quoted(name) for own, name in validity_columns(spec).items()}
    updates[LAST_UPDATED_COLUMN] = "CAST(NULL AS bigint)"  # the commit says when that was

    def taken(column: str) -> str:
        own = quoted(column)
        return f"CASE WHEN {where} THEN {updates[column]} ELSE {own} END" if column in updates else own

    return rows.selectExpr(*(f"{taken(c)} AS {quoted(c)}" for c in columns))


def _beside(rows: DataFrame, others: DataFrame, identity: list[str], how: str) -> DataFrame:
    """Rows with what was told of them. A record's own time may be null, and is the same for all that."""
    own = {column: f"$frazil_own_{number}" for number, column in enumerate(identity)}
    others = others.withColumnsRenamed(own)
    same = (rows[quoted(column)].eqNullSafe(others[quoted(name)]) for column, name in own.items())
    return rows.join(others, reduce(and_, same), how).drop(*own.values())


@dataclass(frozen=True)
class _Ended:
    """The versions of a head that end another way once new ones are there."""

    files: Mapping[str, int] = field(default_factory=dict)  # by the path of each file with one: how many
    judged: DataFrame | None = None  # all versions that were looked at, new and old, see `judged`
    kept: int = 0  # new versions that stay
    replaces: bool = False  # whether some of them do not stand in their files as they should


@dataclass(frozen=True)
class _Versions:
    """New versions in files that no snapshot names."""

    spark: SparkSession
    table: Table  # as the files were written
    spec: TableSpec
    key: Mapping[str, str]  # the columns of the key, with Spark's types
    put: int  # how many they are
    unsure: bool  # whether there is a tombstone of which only the table can tell whether it says anything
    oldest: int | None  # the least of their timestamps
    truncates: tuple[Truncate, ...]  # the landing's truncates
    written: Written
    plan: Plan

    def into(self, table: Table) -> Merged:
        """Ends the versions of a head."""
        within, ended = KeyRange(Box()), _Ended(kept=self.put)
        truncates = Truncates(self.truncates, known_truncates(table.properties, self.plan.ledger))
        truncates = truncates.for_rows_since(self.oldest)
        if self._meets(table, truncates):
            within = self._range(table, truncates)
            ended = self._ended(table, within, truncates)
        if not ended.files and not ended.replaces:
            return self._merged(table, ended, StagedFiles())
        return self._merged(table, ended, self._anew(table, ended, within))

    @property
    def _rows(self) -> DataFrame:
        return files_frame(self.spark, self.table, self.written.files.files)

    def _meets(self, table: Table, truncates: Truncates) -> bool:
        """Whether anything can end another way than it was written."""
        rows = stored_rows(table, table.current_snapshot())
        return bool(rows and (self.put or truncates.new)) or bool(self.put and truncates)

    def _range(self, table: Table, truncates: Truncates) -> KeyRange:
        """Where those rows of a head are that matter to the new ones, and to truncates."""
        names = names_by_word(self.spec)
        begin, end = names["valid-from"], names["valid-to"]
        key_range = range_of(self._rows, self.key, table, self.plan, {begin: "timestamp"})
        times = [*(side.low for side in key_range.box.sides if side.name == begin), truncates.since]
        low = min(time for time in times if isinstance(time, int))
        later = () if self.unsure else (Side(end, "timestamp", low, None, missing=True),)
        if truncates.new:
            return KeyRange(Box(later))
        return KeyRange(
            Box((*(s for s in key_range.box.sides if s.name != begin), *later)), key_range.buckets
        )

    def _ended(self, table: Table, within: KeyRange, truncates: Truncates) -> _Ended:
        from pyspark.sql import functions as F

        met = self._met(table, within, truncates)
        judged_rows = judged(met, self.spec, list(self.key), truncates)
        same = (f"{quoted(c)} <=> {quoted(own)}" for c, own in validity_columns(self.spec).items())
        judged_rows = judged_rows.withColumn(_CHANGED, F.expr(f"NOT ({' AND '.join(same)})"))
        measures = (
            F.expr(f"count_if({quoted(_CHANGED)})").alias("changed"),
            F.expr("count(1)").alias("rows"),
        )
        with spark_job(landing_job(self.plan)):
            counts = {row[_FILE]: row for row in judged_rows.groupBy(quoted(_FILE)).agg(*measures).collect()}
        own = counts.pop(None, None)
        kept, changed = (own["rows"], own["changed"]) if own else (0, 0)
        files = {path: row["changed"] for path, row in counts.items() if row["changed"]}
        return _Ended(files, judged_rows, kept, changed > 0 or kept < self.put)

    def _met(self, table: Table, within: KeyRange, truncates: Truncates) -> DataFrame:
        """New versions, and those of the table that they, or a truncate, may end."""
        names, key = names_by_word(self.spec), list(self.key)
        words = ("partition", "offset", "timestamp", "op", "source-time", "valid-from", "valid-to", "current")
        columns = [*map(quoted, (*key, *(names[word] for word in words)))]
        head = at_snapshot(self.spark, name_of(table), table.metadata.current_snapshot_id or 0)
        for condition in (within.box.sql, *within.buckets):
            head = head.where(condition)
        new = self._rows.selectExpr(
            *columns, f"CAST(NULL AS string) AS {quoted(_FILE)}", f"true AS {quoted(NEW)}"
        )
        keys = broadcast_if_few(self._rows.select(*map(quoted, key)).distinct(), self.put)
        there = head.selectExpr(*columns, f"_file AS {quoted(_FILE)}", f"false AS {quoted(NEW)}")
        met = there if truncates.new else there.join(keys, key, "left_semi")
        return met.unionByName(new)

    def _anew(self, table: Table, ended: _Ended, within: KeyRange) -> StagedFiles:
        """Writes files anew in which versions end; and the new ones, if some are not as they were written."""
        files, identity = files_of(table, within, ended.files), list(key_columns(table))
        rest = write_rest(
            self.spark, table, files, lambda rows: moved.judged(rows, "false"), landing_job(self.plan),
            self.spec.upkeep.orphans_after, lambda _, stay: self._left(stay, ended, identity),
        )  # fmt: skip
        added = ended.kept if ended.replaces else 0
        numbers = f"{sum(ended.files.values())} end another way, {added} come"
        work, ends = (
            f"A landing of versions of topic {self.plan.topic}",
            frozenset(validity_columns(self.spec)),
        )
        moves = Moves(unknown=ends, fewer=rest.moves.fewer, more=added > 0)
        return rest.audited(rest.rows + added, work, numbers, "Land again.", moves)

    def _left(self, state: DataFrame, ended: _Ended, identity: list[str]) -> DataFrame:
        """The rows of some files, and new ones, with what was found of them."""
        assert ended.judged is not None
        columns = state.columns
        versions = ended.judged.selectExpr(
            *map(quoted, [*identity, *validity_columns(self.spec).values(), NEW, _CHANGED])
        )
        changed = versions.where(f"NOT {quoted(NEW)} AND {quoted(_CHANGED)}")
        both = _beside(state, broadcast_if_few(changed, sum(ended.files.values())), identity, "left")
        rows = _settled(both, self.spec, columns, f"{quoted(NEW)} IS NOT NULL")
        if not ended.replaces:
            return rows
        own = self._rows
        new = _beside(own, broadcast_if_few(versions.where(quoted(NEW)), ended.kept), identity, "inner")
        return rows.unionByName(with_no_ids(_settled(new, self.spec, own.columns), self.table))

    def _merged(self, table: Table, ended: _Ended, kept: StagedFiles) -> Merged:
        return Merged(
            **{f.name: getattr(self.written, f.name) for f in fields(Written)},
            put=self.put,
            inserted=ended.kept,
            updated=sum(ended.files.values()),
            removed=frozenset(ended.files),
            kept=kept,
            replaces=ended.replaces,
            deletes=delete_manifests(table),
            head=table.metadata.current_snapshot_id or 0,
            truncates=self.truncates,
        )
