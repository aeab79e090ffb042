"""The changes of rows between two snapshots: inserted, deleted, updated with the row before and after.

Iceberg's own changelog compares the files that came and went; Spark sorts, so nobody holds all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from itertools import takewhile
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Literal

from frazil.errors import MissingError, RepairError
from frazil.exact import shown_rows
from frazil.quoting import comparable, in_shell, literal, quoted
from frazil.spec.names import TableName
from frazil.tables.catalogs.handle import name_of
from frazil.tables.metadata.snapshots import hides_changes, line_of, summary_of
from frazil.tables.spark.faults import Job, spark_job
from frazil.tables.spark.redaction import SPARK_CATALOG
from frazil.tables.spark.session import spark_name

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot
    from pyspark.sql import DataFrame, SparkSession

_TYPE, _ORDINAL, _SNAPSHOT = "_change_type", "_change_ordinal", "_commit_snapshot_id"
_OWN = (_TYPE, _ORDINAL, _SNAPSHOT)
_CAME = ("INSERT", "UPDATE_AFTER")
_TIMES, _SAID = "$frazil_times", "$frazil_said_"

_FORGETTING = "forgetting"  # its manifests tell no file that went: what it changed must not be told


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one row in one snapshot."""

    kind: Literal["insert", "delete", "update"]
    snapshot_id: int
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class _Half:
    """A row that went, or one that came."""

    came: bool
    snapshot_id: int
    row: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Changelog:
    """The changes of a table behind one snapshot, up to another one.

    Attributes:
        key: The columns that tell rows apart; `net` needs none.
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
            with self._changes_view(*part) as view:
                came = f"{quoted(_TYPE)} IN ({', '.join(map(literal, _CAME))})"
                order = [quoted(_ORDINAL), *map(quoted, self.key), came]  # what goes before what comes
                yield self.spark.sql(f"SELECT * FROM {view} ORDER BY {', '.join(order)}")

    def net(self) -> tuple[DataFrame, DataFrame]:
        """The rows that went, and those that came: a row that changed counts as both.

        A row counts once for each time that it stands in a file that came, and once against it for each time
        in one that went. So rows that were only written anew cancel out, and nothing needs a key.
        """
        from pyspark.sql import functions as F

        every = reduce(lambda one, two: one.unionByName(two), (self._raw(*part) for part in self.parts))
        kinds = {name: kind for name, kind in every.dtypes if name not in _OWN}
        columns = {name: comparable(quoted(name), kind) for name, kind in kinds.items()}
        odd = {name: f"{_SAID}{n}" for n, name in enumerate(kinds) if columns[name] != quoted(name)}
        keys = [F.expr(sql).alias(odd.get(name, name)) for name, sql in columns.items()]
        times = F.expr(f"sum(IF({quoted(_TYPE)} = 'INSERT', 1, -1))").alias(_TIMES)
        counted = every.groupBy(*keys).agg(times, *(F.first(quoted(name)).alias(name) for name in odd))
        return _repeated(counted, kinds, "-"), _repeated(counted, kinds, "+")

    def _raw(self, start: int, end: int) -> DataFrame:
        """The rows of files that came and went in one part; those of files written anew are in it twice."""
        options = {"start-snapshot-id": str(start), "end-snapshot-id": str(end)}
        return self.spark.read.options(**options).table(f"{spark_name(self.name)}.changes")

    @contextmanager
    def _changes_view(self, start: int, end: int) -> Iterator[str]:
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
        gone: _Half | None = None
        for told in self._halves():
            if told.came and gone and self._place(gone) == self._place(told):
                # Iceberg compares bytes by identity: it pairs no keys of bytes, and tells of updates that
                # changed nothing.
                if gone.row != told.row:
                    yield Change("update", told.snapshot_id, gone.row, told.row)
                gone = None
                continue
            if gone:
                yield Change("delete", gone.snapshot_id, before=gone.row)
            gone = None if told.came else told
            if told.came:
                yield Change("insert", told.snapshot_id, after=told.row)
        if gone:
            yield Change("delete", gone.snapshot_id, before=gone.row)

    def _halves(self) -> Iterator[_Half]:
        for batch in self.batches():
            for row in shown_rows(batch):
                kind, _, snapshot = (row.pop(name) for name in _OWN)
                yield _Half(kind in _CAME, snapshot, row)

    def _place(self, told: _Half) -> tuple[Any, ...]:
        """What a row before and the row after have in common."""
        return told.snapshot_id, *(told.row[name] for name in self.key)


def changelog(
    spark: SparkSession, table: Table, since: Snapshot, to: Snapshot, key: Sequence[str] = ()
) -> Changelog:
    """The changes behind `since`, up to `to`.

    Raises:
        MissingError: `since` is no ancestor of `to`, or what came between has expired.
        RepairError: Rows were deleted by delete files, or some still are: Iceberg tells no changes then.
    """
    name = name_of(table)
    line = list(line_of(table.metadata, to))
    news = list(takewhile(lambda s: s.snapshot_id != since.snapshot_id, line))
    if len(news) == len(line):
        raise MissingError(
            f"Snapshot {since.snapshot_id} is no ancestor of {to.snapshot_id} in {name}, or not any more.",
            meaning="What changed between them can't be told.",
            todo=f"`frazil describe {in_shell(str(name))}` lists snapshots; name the older one first.",
        )
    if hiding := hides_changes(news):
        raise RepairError(
            f"Another engine deleted rows of {name} by delete files, and as long as there are some Iceberg "
            "tells no changes.",
            where=f"snapshot {hiding.snapshot_id}",
            meaning="Nothing was changed.",
            todo=f"`frazil compact {in_shell(str(name))} --everything` applies them. Ask for the changes "
            "before that snapshot, and behind the compaction. Or have that engine write copy-on-write.",
        )
    return Changelog(spark, name, tuple(_parts(since, news)), tuple(key))


def _repeated(counted: DataFrame, columns: Iterable[str], sign: Literal["-", "+"]) -> DataFrame:
    """The rows of that sign, each as often as it is counted."""
    times = f"{sign}{quoted(_TIMES)}"
    each = f"explode(sequence(1, {times})) AS {quoted(_TIMES)}"
    return counted.where(f"{times} > 0").selectExpr(*map(quoted, columns), each).drop(_TIMES)


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
