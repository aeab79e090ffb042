"""Rows that Spark shuffled, by key: tasks compute what the rules of upserts say of them.

The rules are those of the lane (`lane/rules.py`); frames have the table's own names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from importlib.metadata import version
from typing import TYPE_CHECKING

from frazil.landing.upsert.words import BARE, DELETED, ENDS, LSN, MET, TOMBSTONE, WINS
from frazil.quoting import quoted
from frazil.tables.format_v3.fields import ROW_ID_COLUMN

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from frazil.landing.upsert.lane.rules import Rules

_HELD = 64 * 2**20
"""Bytes of changes that a task holds, but for those of one key."""

_MARK = "$frazil_mark_"


def newest_changes(changes: DataFrame, rules: Rules) -> DataFrame:
    """The newest change of each key, see `Soft.newest`; by the source's log with `LSN`.

    Spark sorts, so that tasks have the changes of a key together, and need not hold those of all.

    Args:
        changes: The table's columns, `DELETED` and `TOMBSTONE`.
    """
    from pyspark.sql.types import LongType, StructField, StructType

    more = [StructField(LSN, LongType())] if rules.identity.lsn else []
    returned = StructType([*changes.schema.fields, *more])
    work = Newest(rules, tuple(returned.names), version("frazil"))
    key = [*map(quoted, rules.identity.key)]
    return changes.repartition(*key).sortWithinPartitions(*key).mapInArrow(work.run, returned)


def judged_rows(rows: DataFrame, rules: Rules, places: Mapping[str, str], key: Sequence[str]) -> DataFrame:
    """Which rows of the table end, of those that changes, or truncates, may end.

    Args:
        rows: Rows with what is known of their changes, `DELETED`, `BARE`, `TOMBSTONE` and places; null where
            there is none.
        places: The columns that say where a change stands, by what the table calls them.
        key: The columns of the key.

    Returns:
        The key, `_file`, row ids where there are some, `DELETED` and `BARE`, which are true where a truncate
        alone ends the row; and `MET`, `WINS` and `ENDS`. Rows without a change that stay are left out.
    """
    from pyspark.sql.types import BooleanType, StructField, StructType

    kept = [f for f in rows.schema.fields if f.name in {*key, "_file", ROW_ID_COLUMN, DELETED, BARE}]
    flags = [StructField(word, BooleanType()) for word in (MET, WINS, ENDS)]
    returned = StructType([*kept, *flags])
    work = Judge(rules, dict(places), tuple(returned.names), version("frazil"))
    return rows.mapInArrow(work.run, returned)


def emptied(rows: DataFrame, rules: Rules, *, landed: bool = False) -> DataFrame:
    """Rows of the table's columns without those that are older than a truncate, or with these marked."""
    if not rules.truncates:
        return rows
    return rows.mapInArrow(Empty(rules, landed, version("frazil")).run, rows.schema)


def emptied_count(rows: DataFrame, rules: Rules) -> DataFrame:
    """How many of some new rows are older than a truncate: numbers, as `gone`, that are to be added up."""
    return rows.mapInArrow(Empty(rules, False, version("frazil")).count, "gone bigint")


def marked(rows: DataFrame, ends: DataFrame, rules: Rules) -> DataFrame:
    """Those rows of a table whose keys end, with the marks of what ended them."""
    assert rules.soft
    new = {name: _MARK + name for name in rules.soft.marks}
    key = list(rules.identity.key)
    marks = ends.selectExpr(*map(quoted, key), *(f"{quoted(c)} AS {quoted(to)}" for c, to in new.items()))
    work = Mark(rules, tuple(rows.columns), version("frazil"))
    return rows.join(marks, key).mapInArrow(work.run, rows.schema)


@dataclass(frozen=True, slots=True)
class Newest:
    """A task that has all changes of some keys, one key's after the other's."""

    rules: Rules
    names: tuple[str, ...]  # of the columns that it returns
    version: str  # of Frazil

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The newest change of each key."""
        import pyarrow as pa

        from frazil.tables.writing.task import begin_task

        begin_task(self.version)
        waiting: list[pa.RecordBatch] = []
        room = _HELD
        for batch in batches:
            waiting.append(batch)
            if sum(each.nbytes for each in waiting) > room:
                changes = pa.Table.from_batches(waiting).combine_chunks()
                known = _last_key(changes.select(self.rules.identity.key))
                yield from self._newest(changes.slice(0, known))
                waiting = changes.slice(known).to_batches()
                room = max(_HELD, 2 * sum(each.nbytes for each in waiting))
        if len(waiting) > 0:
            yield from self._newest(pa.Table.from_batches(waiting).combine_chunks())

    def _newest(self, changes: pa.Table) -> list[pa.RecordBatch]:
        return self.rules.order.newest(changes).select(self.names).to_batches() if len(changes) else []


def _last_key(keys: pa.Table) -> int:
    """Where the last one of some sorted keys begins; there may be more of it."""
    import numpy as np
    import pyarrow.compute as pc

    same = reduce(pc.and_, (pc.equal(column, column[-1]) for column in keys.columns))
    others = np.flatnonzero(~same.to_numpy())
    return int(others[-1]) + 1 if len(others) else 0


@dataclass(frozen=True, slots=True)
class Judge:
    """A task that compares rows with the changes beside them."""

    rules: Rules
    places: Mapping[str, str]  # of changes, by what the table calls them
    names: tuple[str, ...]  # of the columns that it returns
    version: str  # of Frazil

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """See `judged_rows`."""
        from frazil.tables.writing.task import begin_task

        begin_task(self.version)
        for batch in batches:
            yield from self._judged(batch).to_batches()

    def _judged(self, batch: pa.RecordBatch) -> pa.Table:
        import pyarrow as pa
        import pyarrow.compute as pc

        known = batch[DELETED].is_valid().to_numpy(zero_copy_only=False)
        flags_of = {name: batch[name].fill_null(False) for name in (BARE, TOMBSTONE)}
        rows = pa.Table.from_batches([batch])
        changes = {name: batch[own] for name, own in self.places.items()}
        changes |= {DELETED: flags_of[BARE], TOMBSTONE: flags_of[TOMBSTONE]}
        changes |= {LSN: batch[LSN]} if self.rules.identity.lsn else {}
        wins = self.rules.are_ended(rows) | (known & self.rules.is_newer(pa.table(changes), rows))
        flags = {name: pc.fill_null(batch[name], True) for name in (DELETED, BARE)}
        ends = wins & flags[DELETED].to_numpy(zero_copy_only=False) & ~self.rules.are_deleted(rows)
        flags |= {MET: flags_of[BARE], WINS: pa.array(wins), ENDS: pa.array(ends)}
        flagged = pa.table({name: flags[name] if name in flags else batch[name] for name in self.names})
        return flagged.filter(pa.array(wins | known))


@dataclass(frozen=True, slots=True)
class Empty:
    """A task that knows truncates."""

    rules: Rules
    landed: bool  # whether the rows were in the table before
    version: str  # of Frazil

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What the truncates leave."""
        for rows in self._tables(batches):
            yield from self.rules.emptied(rows, landed=self.landed).to_batches()

    def count(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """How many rows they end, or mark."""
        import pyarrow as pa

        for rows in self._tables(batches):
            yield pa.RecordBatch.from_pydict({"gone": pa.array([self.rules.count_emptied(rows)])})

    def _tables(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        import pyarrow as pa

        from frazil.tables.writing.task import begin_task

        begin_task(self.version)
        yield from (pa.Table.from_batches([batch]) for batch in batches)


@dataclass(frozen=True, slots=True)
class Mark:
    """A task that knows which deletes end rows that stay."""

    rules: Rules
    names: tuple[str, ...]  # of the table's columns
    version: str  # of Frazil

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows, with the marks of their deletes."""
        import pyarrow as pa

        from frazil.tables.writing.task import begin_task

        begin_task(self.version)
        soft = self.rules.soft
        assert soft
        for batch in batches:
            rows = pa.Table.from_batches([batch])
            changes = pa.table({name: rows[_MARK + name] for name in soft.marks})
            yield from soft.marked(rows.select(self.names), changes).to_batches()
