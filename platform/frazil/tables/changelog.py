"""The changes of rows between two snapshots: inserted, deleted, updated with the row before and after.

Iceberg's own changelog compares the files that came and went; Spark sorts, so nobody holds all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import reduce
from itertools import takewhile
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Literal

from frazil.errors import MissingError, RepairError
from frazil.quoting import comparable, literal, quoted
from frazil.spec.names import TableName
from frazil.tables.faults import Job, spark_job
from frazil.tables.redaction import SPARK_CATALOG
from frazil.tables.snapshots import hides_changes, line_of, summary_of

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot
    from pyspark.sql import DataFrame, SparkSession

_TYPE, _ORDINAL, _SNAPSHOT = "_change_type", "_change_ordinal", "_commit_snapshot_id"
_PART, _FIRST, _LAST = "$frazil_part", "$frazil_first", "$frazil_last"
_OWN = (_TYPE, _ORDINAL, _SNAPSHOT, _PART)

_FORGETTING = "forgetting"  # its manifests tell no file that went: what it changed must not be told


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one row in one snapshot."""

    kind: Literal["insert", "delete", "update"]
    snapshot_id: int
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Changelog:
    """The changes of a table behind one snapshot, up to another one.

    Attributes:
        key: The columns that tell rows apart.
    """

    spark: SparkSession
    name: TableName
    parts: tuple[tuple[int, int], ...]
    key: tuple[str, ...]

    def frames(self) -> Iterator[DataFrame]:
        """The rows of the changes, in order, as Iceberg tells them: with `_change_type` and two more columns.

        A frame is valid until the next one is asked for.
        """
        for part in self.parts:
            with self._told(*part) as view:
                order = [quoted(_ORDINAL), *map(quoted, self.key), f"{quoted(_TYPE)} DESC"]
                yield self.spark.sql(f"SELECT * FROM {view} ORDER BY {', '.join(order)}")

    @contextmanager
    def net(self) -> Iterator[tuple[DataFrame, DataFrame]]:
        """The rows that went, and those that came: a row that changed in between counts as both.

        What a key had at first and what it has at last count, and nothing in between. Both are valid as long
        as the context is open.
        """
        from pyspark.sql import functions as F

        with ExitStack() as views:
            told = [views.enter_context(self._told(*part)) for part in self.parts]
            frames = [self.spark.table(view).withColumn(_PART, F.lit(n)) for n, view in enumerate(told)]
            every = reduce(lambda one, two: one.unionByName(two), frames)
            ends = every.groupBy(*map(quoted, self.key)).agg(*map(F.expr, _ends(every.columns)))
            first, last = quoted(_FIRST), quoted(_LAST)
            ends = ends.where(f"{first}.came OR NOT {last}.came OR NOT ({_same(every)})")
            went = ends.where(f"NOT {first}.came").selectExpr(f"{first}.row.*")
            yield went, ends.where(f"{last}.came").selectExpr(f"{last}.row.*")

    @contextmanager
    def _told(self, start: int, end: int) -> Iterator[str]:
        """A view of the changes of one part."""
        view = f"frazil_{token_hex(8)}"
        options = {"start-snapshot-id": str(start), "end-snapshot-id": str(end)}
        told = ", ".join(f"{literal(k)}, {literal(v)}" for k, v in options.items())
        columns = ", ".join(map(literal, self.key))
        table = literal(quoted(*self.name.identifier))
        try:
            self.spark.sql(
                f"CALL {SPARK_CATALOG}.system.create_changelog_view(table => {table}, "
                f"changelog_view => '{view}', options => map({told}), "
                f"compute_updates => true, identifier_columns => array({columns}))"
            ).collect()
            yield view
        finally:
            self.spark.catalog.dropTempView(view)

    def batches(self) -> Iterator[RecordBatch]:
        """The same as Arrow batches; with Spark Connect they come one after the other."""
        job = Job("changelog", str(self.name), "Nothing was changed.", "Try again.")
        with spark_job(job):
            for frame in self.frames():
                yield from _arrow(frame)

    def __iter__(self) -> Iterator[Change]:
        """The changes one by one; an update is one change."""
        before: dict[str, Any] | None = None
        for batch in self.batches():
            for row in batch.to_pylist():
                kind, _, snapshot = (row.pop(name) for name in (_TYPE, _ORDINAL, _SNAPSHOT))
                match kind:
                    case "INSERT":
                        yield Change("insert", snapshot, after=row)
                    case "DELETE":
                        yield Change("delete", snapshot, before=row)
                    case "UPDATE_BEFORE":
                        before = row
                    # Iceberg compares bytes by identity: it tells of updates that changed nothing.
                    case _ if row != before:
                        yield Change("update", snapshot, before, row)


def changelog(
    spark: SparkSession, name: TableName, table: Table, since: Snapshot, to: Snapshot, key: Sequence[str]
) -> Changelog:
    """The changes behind `since`, up to `to`.

    Raises:
        MissingError: `since` is no ancestor of `to`, or what came between has expired.
        RepairError: Rows were deleted by delete files, or some still are: Iceberg tells no changes then.
    """
    line = list(line_of(table.metadata, to))
    news = list(takewhile(lambda s: s.snapshot_id != since.snapshot_id, line))
    if len(news) == len(line):
        raise MissingError(
            f"Snapshot {since.snapshot_id} is no ancestor of {to.snapshot_id} in {name}, or not any more.",
            meaning="What changed between them can't be told.",
            todo=f"`frazil describe {name}` lists snapshots; name the older one first.",
        )
    if hiding := hides_changes(news):
        raise RepairError(
            f"Another engine deleted rows of {name} by delete files, and as long as there are some Iceberg "
            "tells no changes.",
            where=f"snapshot {hiding.snapshot_id}",
            meaning="Nothing was changed.",
            todo=f"`frazil compact {name} --everything` applies them. Ask for the changes before that "
            "snapshot, and behind the compaction. Or have that engine write copy-on-write.",
        )
    return Changelog(spark, name, tuple(_parts(since, news)), tuple(key))


def _same(changes: DataFrame) -> str:
    """Whether the first change's row is the last one's."""
    columns = ((quoted(name), kind) for name, kind in changes.dtypes if name not in _OWN)
    pairs = ([f"{quoted(end)}.row.{name}" for end in (_FIRST, _LAST)] + [kind] for name, kind in columns)
    return " AND ".join(f"{comparable(a, kind)} <=> {comparable(b, kind)}" for a, b, kind in pairs)


def _ends(columns: Sequence[str]) -> tuple[str, str]:
    """Aggregates over the changes of one key: the first one and the last one, each with its row."""
    own = ", ".join(quoted(c) for c in columns if c not in _OWN)
    came = f"{quoted(_TYPE)} IN ('INSERT', 'UPDATE_AFTER')"
    change = f"struct({came} AS came, struct({own}) AS row)"
    place = f"struct({quoted(_PART)}, {quoted(_ORDINAL)}, {came} AS came)"
    return (
        f"min_by({change}, {place}) AS {quoted(_FIRST)}",
        f"max_by({change}, {place}) AS {quoted(_LAST)}",
    )


def _parts(since: Snapshot, news: Sequence[Snapshot]) -> Iterator[tuple[int, int]]:
    """Stretches of the line, without the snapshots that forgot rows."""
    start, last = since.snapshot_id, since.snapshot_id
    for snapshot in reversed(news):
        if summary_of(snapshot).get("frazil.upkeep") == _FORGETTING:
            if last != start:
                yield start, last
            start = snapshot.snapshot_id
        last = snapshot.snapshot_id
    if last != start:
        yield start, last


def _arrow(frame: DataFrame) -> Iterator[RecordBatch]:
    """A frame as Arrow; a classic session gives all of it at once."""
    import pyarrow as pa

    client = getattr(frame.sparkSession, "client", None)
    if client is None:
        yield from frame.toArrow().to_batches()
        return
    plan: Any = frame._plan  # as Connect's own toLocalIterator
    for part in client.to_table_as_iterator(plan.to_proto(client), plan.observations):
        if isinstance(part, pa.Table):
            yield from part.to_batches()
