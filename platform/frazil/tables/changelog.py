"""The changes of rows between two snapshots: inserted, deleted, updated with the row before and after.

The rows of files that came and went are compared; where these have ids, only those that changed by their ids.
Spark sorts, so nobody holds all of it. Iceberg's own changelog does the same, and refuses a table with delete
files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Any, Literal

from frazil.errors import MissingError
from frazil.exact import shown_rows
from frazil.quoting import comparable, in_shell, quoted
from frazil.tables.catalogs.handle import name_of
from frazil.tables.changed import changed
from frazil.tables.format_v3.fields import LAST_UPDATED_COLUMN, ROW_ID_COLUMN, has_row_ids
from frazil.tables.metadata.snapshots import line_of, summary_of
from frazil.tables.spark.faults import Job, files_there, spark_job
from frazil.tables.touched import touched

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot
    from pyspark.sql import DataFrame, SparkSession

_TYPE, _ORDINAL, _SNAPSHOT = "_change_type", "_change_ordinal", "_commit_snapshot_id"
_OWN = (_TYPE, _ORDINAL, _SNAPSHOT)
_GONE, _CAME = "DELETE", "INSERT"
_TIMES, _SIGN, _SAID = "$frazil_times", "$frazil_sign", "$frazil_said_"

_AT_ONCE = 20
"""Snapshots that one Spark job compares."""

_FORGETTING = "forgetting"  # its manifests tell no file that went: what it changed must not be told


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one row in one snapshot; its id, where the table's rows have some."""

    kind: Literal["insert", "delete", "update"]
    snapshot_id: int
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    row_id: int | None = None


@dataclass(frozen=True, slots=True)
class _Half:
    """A row that went, or one that came."""

    came: bool
    snapshot_id: int
    row: dict[str, Any]
    row_id: int | None


_Pair = tuple["Snapshot", "Snapshot", Mapping[str, int]]
"""Two snapshots, and columns that rows get which tell them apart."""


@dataclass(frozen=True, slots=True)
class Changelog:
    """The changes of a table behind one snapshot, up to another one.

    Attributes:
        parts: Stretches of the line of which changes are told: each begins behind its first snapshot.
        key: The columns that tell rows apart; `net` needs none, nor does a table whose rows have ids.
    """

    spark: SparkSession
    table: Table
    parts: tuple[tuple[Snapshot, ...], ...]
    key: tuple[str, ...]

    @property
    def by_row_ids(self) -> bool:
        """Whether ids tell rows apart: all of its snapshots give their rows some."""
        every = [snapshot for part in self.parts for snapshot in part]
        return bool(every) and has_row_ids(self.table) and all(s.first_row_id is not None for s in every)

    def frames(self) -> Iterator[DataFrame]:
        """The rows that went and came in each snapshot, in order: with their snapshot, and what they did.

        Where they have ids, with these, too.
        """
        pairs = [pair for part in self.parts for pair in pairwise(part) if not _moves_only(pair[1])]
        told_by = [ROW_ID_COLUMN] if self.by_row_ids else self.key
        order = [_ORDINAL, *told_by, _TYPE]  # what goes before what comes
        for begin in range(0, len(pairs), _AT_ONCE):
            some = enumerate(pairs[begin : begin + _AT_ONCE], begin)
            gone, came = self._differences(
                (*pair, {_ORDINAL: number, _SNAPSHOT: pair[1].snapshot_id}) for number, pair in some
            )
            yield gone.unionByName(came).orderBy(*map(quoted, order))

    def net(self) -> tuple[DataFrame, DataFrame]:
        """The rows that went, and those that came: a row that changed counts as both."""
        pairs = ((part[0], part[-1], dict[str, int]()) for part in self.parts)
        gone, came = self._differences(pairs, without=(ROW_ID_COLUMN,))
        return gone.drop(_TYPE), came.drop(_TYPE)

    def _differences(
        self, pairs: Iterable[_Pair], without: tuple[str, ...] = ()
    ) -> tuple[DataFrame, DataFrame]:
        """The rows that went and those that came between pairs of snapshots.

        A row counts once for each time that it stands in a file that came, and once against it for each time
        in one that went. So rows that were only written anew cancel out, and nothing needs a key.
        """
        from pyspark.sql import functions as F

        every = reduce(lambda one, two: one.unionByName(two), self._signed(pairs))
        every = every.drop(*without) if without else every
        kinds = {name: kind for name, kind in every.dtypes if name != _SIGN}
        columns = {name: comparable(quoted(name), kind) for name, kind in kinds.items()}
        odd = {name: f"{_SAID}{n}" for n, name in enumerate(kinds) if columns[name] != quoted(name)}
        keys = [F.expr(sql).alias(odd.get(name, name)) for name, sql in columns.items()]
        times = F.sum(quoted(_SIGN)).alias(_TIMES)
        counted = every.groupBy(*keys).agg(times, *(F.first(quoted(name)).alias(name) for name in odd))
        gone, came = (_repeated(counted, kinds, sign) for sign in ("-", "+"))
        return gone.withColumn(_TYPE, F.lit(_GONE)), came.withColumn(_TYPE, F.lit(_CAME))

    def _signed(self, pairs: Iterable[_Pair]) -> Iterator[DataFrame]:
        """The rows of the files that tell each pair apart, with 1 where they came, and -1 where they went."""
        from pyspark.sql import functions as F

        for before, after, labels in pairs:
            for rows, sign in zip(self._sides(before, after), (-1, 1), strict=True):
                named = {name: F.lit(number).cast("bigint") for name, number in labels.items()}
                yield rows.withColumns({_SIGN: F.lit(sign), **named})

    def _sides(self, before: Snapshot, after: Snapshot) -> tuple[DataFrame, DataFrame]:
        """The rows of one snapshot, and of another, that may tell them apart."""
        with files_there(self.table):
            one, two = touched(self.table, before, after)
            if self.by_row_ids:
                gone, came = changed(self.spark, one, two, before.sequence_number or 0)
                return gone.drop(LAST_UPDATED_COLUMN), came.drop(LAST_UPDATED_COLUMN)
        return one.rows(self.spark), two.rows(self.spark)

    def batches(self) -> Iterator[RecordBatch]:
        """The same as Arrow batches; with Spark Connect they come one after the other."""
        job = Job("changelog", str(name_of(self.table)), "Nothing was changed.", "Try again.")
        with spark_job(job):
            for frame in self.frames():
                yield from _arrow(frame)

    def __iter__(self) -> Iterator[Change]:
        """The changes one by one; an update is one change."""
        gone: _Half | None = None
        for half in self._halves():
            if half.came and gone and self._place(gone) == self._place(half):
                yield Change("update", half.snapshot_id, gone.row, half.row, half.row_id)
                gone = None
                continue
            if gone:
                yield Change("delete", gone.snapshot_id, before=gone.row, row_id=gone.row_id)
            gone = None if half.came else half
            if half.came:
                yield Change("insert", half.snapshot_id, after=half.row, row_id=half.row_id)
        if gone:
            yield Change("delete", gone.snapshot_id, before=gone.row, row_id=gone.row_id)

    def _halves(self) -> Iterator[_Half]:
        by_row_ids = self.by_row_ids
        for batch in self.batches():
            for row in shown_rows(batch):
                kind, _, snapshot = (row.pop(name) for name in _OWN)
                row_id = row.pop(ROW_ID_COLUMN) if by_row_ids else None
                yield _Half(kind == _CAME, snapshot, row, row_id)

    def _place(self, half: _Half) -> tuple[Any, ...]:
        """What a row before and the row after have in common."""
        if half.row_id is not None:
            return half.snapshot_id, half.row_id
        return half.snapshot_id, *(half.row[name] for name in self.key)


def changelog(
    spark: SparkSession, table: Table, since: Snapshot, to: Snapshot, key: Sequence[str] = ()
) -> Changelog:
    """The changes behind `since`, up to `to`.

    Raises:
        MissingError: `since` is no ancestor of `to`, or what came between has expired.
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
    return Changelog(spark, table, tuple(_parts(since, news)), tuple(key))


def _moves_only(snapshot: Snapshot) -> bool:
    """Whether a snapshot only wrote rows anew."""
    return snapshot.summary is not None and snapshot.summary.operation.value == "replace"


def _repeated(counted: DataFrame, columns: Iterable[str], sign: Literal["-", "+"]) -> DataFrame:
    """The rows of that sign, each as often as it is counted."""
    times = f"{sign}{quoted(_TIMES)}"
    each = f"explode(sequence(1, {times})) AS {quoted(_TIMES)}"
    return counted.where(f"{times} > 0").selectExpr(*map(quoted, columns), each).drop(_TIMES)


def _parts(since: Snapshot, news: Sequence[Snapshot]) -> Iterator[tuple[Snapshot, ...]]:
    """Stretches of the line, without the snapshots that forgot rows."""
    part = [since]
    for snapshot in reversed(news):
        if summary_of(snapshot).get("frazil.upkeep") == _FORGETTING:
            if len(part) > 1:
                yield tuple(part)
            part = []
        part.append(snapshot)
    if len(part) > 1:
        yield tuple(part)


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
