"""The rows that a table has of changed keys: in which files they are, and which changes are older than they.

Only files that can hold a key are looked into, by its bounds and its buckets; and of these only the columns
that tell the key and where a row is from.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.formats.columns.columns import names_by_word
from frazil.landing.faults import landing_job
from frazil.landing.plan import Plan
from frazil.landing.upsert.changes import Changes
from frazil.landing.upsert.columns import places
from frazil.landing.upsert.shuffled import judged_rows
from frazil.landing.upsert.words import BARE, ENDS, MET, WINS
from frazil.quoting import quoted
from frazil.tables.box import Box, box_from, measures
from frazil.tables.format_v3.fields import ROW_ID_COLUMN, has_row_ids
from frazil.tables.spark.faults import spark_job
from frazil.tables.spark.redaction import SPARK_CATALOG
from frazil.tables.spark.session import aggregated, at_snapshot

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame

_WON = quoted(WINS)

_FEW = 1_000_000  # changes that each task of Spark holds in memory, so that no row of the table is moved

BUCKETED = ("int", "long", "string", "binary", "date", "timestamp", "timestamptz", "decimal")
"""Types of keys that Spark has as files do; a uuid is a text to it."""


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Where the keys of some changes can be."""

    box: Box
    buckets: tuple[str, ...] = ()  # SQL that is true of rows in the keys' buckets


@dataclass(frozen=True, slots=True)
class Matches:
    """The rows that a head has of changed keys."""

    files: Mapping[str, int]  # by the path of each file with a row that goes: how many
    deleted: int = 0  # rows that a delete ends
    bare: int = 0  # rows that go, and that no new row comes for
    older: DataFrame | None = None  # keys of changes that are older than their row; None where there are none
    older_rows: int = 0  # how many of those changes have a row
    strange: DataFrame | None = None  # deletes of keys that the table has no row of, where they are noted
    strange_rows: int = 0  # how many those are
    ids: DataFrame | None = None  # by their keys, those of rows that new ones come for; None: rows have none

    @property
    def replaced(self) -> int:
        """Rows that go, and that new ones come for."""
        return self.gone - self.bare

    @property
    def gone(self) -> int:
        """Rows that go."""
        return sum(self.files.values())


def key_range(changes: Changes, table: Table, plan: Plan) -> KeyRange:
    """Measures the keys of some changes."""
    return range_of(changes.heads, changes.key, table, plan)


def range_of(
    rows: DataFrame, key: Mapping[str, str], table: Table, plan: Plan, beside: Mapping[str, str] | None = None
) -> KeyRange:
    """Measures the keys of some rows, and other columns of theirs: `beside`, with Spark's types."""
    buckets, measured = dict(_buckets(table, key)), {**key, **(beside or {})}
    within = {sql: f"array_sort(collect_set({sql}))" for sql in buckets}
    facts = aggregated(rows, within | measures(measured, measured), landing_job(plan))
    met = {sql: facts[sql] for sql, count in buckets.items() if len(facts[sql]) < count}
    conditions = (f"{sql} IN ({', '.join(map(str, numbers))})" for sql, numbers in met.items())
    return KeyRange(box_from(measured, measured, facts), tuple(conditions))


def _buckets(table: Table, key: Collection[str]) -> Iterator[tuple[str, int]]:
    """The buckets that the key divides the table into: SQL that tells a row's, and how many there are."""
    from pyiceberg.transforms import BucketTransform

    for field in table.spec().fields:
        source = table.schema().find_field(field.source_id)
        name = table.schema().find_column_name(field.source_id) or ""
        known = str(source.field_type).startswith(BUCKETED)
        if isinstance(field.transform, BucketTransform) and name in key and known:
            count = field.transform.num_buckets
            yield f"{SPARK_CATALOG}.system.bucket({count}, {quoted(name)})", count


def find_matches(table: Table, changes: Changes, wanted: KeyRange, plan: Plan) -> Matches:
    """Looks for the rows of changed keys at the table's head."""
    from pyspark.sql import functions as F

    spec, key = changes.spec, list(changes.key)
    names = names_by_word(spec)
    head = at_snapshot(changes.spark, changes.name, table.metadata.current_snapshot_id or 0)
    for condition in (wanted.box.sql, *wanted.buckets):
        head = head.where(condition)
    place = [names[word] for word in (*places(spec), "deleted") if word in names]
    ids = [ROW_ID_COLUMN] if has_row_ids(table) else []
    rows = head.select(*map(quoted, [*key, *place, "_file", *ids]))
    met = rows.join(
        broadcast_if_few(changes.heads, changes.count), key, "left" if changes.truncates else "inner"
    )
    rules = changes.rules(anew=plan.begins_anew)
    judged = judged_rows(met, rules, {names[word]: own for word, own in places(spec).items()}, key)
    with spark_job(landing_job(plan)):
        counts = judged.groupBy("_file").agg(*(F.expr(sql).alias(word) for word, sql in _COUNTS.items()))
        matched = [row.asDict() for row in counts.collect()]
    older = any(row["older"] for row in matched)
    return Matches(
        {row["_file"]: row["gone"] for row in matched if row["gone"]},
        sum(row["deleted"] for row in matched),
        sum(row["bare"] for row in matched),
        judged.where(f"NOT {_WON}").select(*map(quoted, key)) if older else None,
        sum(row["older_rows"] for row in matched),
        *_strange(changes, judged, sum(row["met"] for row in matched)),
        judged.where(f"{_WON} AND NOT {quoted(BARE)}").select(*map(quoted, [*key, *ids])) if ids else None,
    )


def no_matches(changes: Changes) -> Matches:
    """What a head has that has no rows."""
    noted = len(changes.ends) if changes.spec.by_lsn else 0
    return Matches({}, strange=changes.bare if noted else None, strange_rows=noted)


def _strange(changes: Changes, judged: DataFrame, met: int) -> tuple[DataFrame | None, int]:
    """Deletes of keys that the head has no row of, where they must be remembered, and how many they are."""
    count = len(changes.ends) - met if changes.spec.by_lsn else 0
    key = list(changes.key)
    rows = changes.bare.join(judged.select(*map(quoted, key)), key, "left_anti") if count else None
    return rows, count


_COUNTS = {
    "met": f"count_if({quoted(MET)})",
    "gone": f"count_if({_WON})",
    "deleted": f"count_if({quoted(ENDS)})",
    "bare": f"count_if({_WON} AND {quoted(BARE)})",
    "older": f"count_if(NOT {_WON})",
    "older_rows": f"count_if(NOT {_WON} AND NOT {quoted(BARE)})",
}


def broadcast_if_few(keys: DataFrame, count: int) -> DataFrame:
    """Keys for a join: few ones are given to every task, so that the table's rows stay in place."""
    from pyspark.sql import functions as F

    return F.broadcast(keys) if count <= _FEW else keys
