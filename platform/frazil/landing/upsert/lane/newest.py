"""Which of two changes of a key is the later one, by columns.

Within a partition the offset says it. Offsets of two partitions can't be compared: there the record's
timestamp decides, and where two are equal the greater partition. With `order_by: source.lsn` the source's log
says it. Tasks of Spark import PyArrow only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.landing.upsert.words import LSN
from frazil.tables.writing.parquet import stored

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

_RANK = "$frazil_rank"
LONG_AGO = -(2**63)


@dataclass(frozen=True, slots=True)
class Identity:
    """The columns of a table that tell what a row is of, and where its record stands."""

    key: tuple[str, ...]
    partition: str
    offset: str
    timestamp: str
    lsn: str = ""  # where a row stands in the source's log, if that says what is later

    @property
    def places(self) -> tuple[str, ...]:
        """Those of the record."""
        return self.partition, self.offset, self.timestamp, *filter(None, [self.lsn])

    def needed(self, changes: pa.Table) -> pa.Table:
        """Changes by which the newest can be told: the last of each key in each partition of the topic."""
        order = np.lexsort(self._numbers(changes, self.partition, self.offset))
        return _with_greatest(changes, [*self.key, self.partition], order)

    def newest(self, changes: pa.Table) -> pa.Table:
        """The newest change of each key."""
        last = self.needed(changes)
        order = np.lexsort(self._numbers(last, self.partition, self.timestamp))
        return _with_greatest(last, self.key, order)

    def is_newer(self, changes: pa.Table, rows: pa.Table, *, anew: bool) -> NDArray[np.bool_]:
        """For each pair of a change and a row whether the change is newer.

        `anew`: offsets may have begun anew. A row that does not say where its record stands is older.
        """
        names = self.partition, self.offset, self.timestamp
        (partition, offset, at), (change, placed, moment) = (
            [of[name] for name in names] for of in (rows, changes)
        )
        greater = pc.and_kleene(pc.equal(moment, at), pc.greater(change, partition))
        later = pc.or_kleene(pc.greater(moment, at), greater)
        behind = pa.array(np.ones(len(changes), bool)) if anew else pc.greater(placed, offset)
        same = pc.fill_null(pc.equal(change, partition), False)
        newer = pc.fill_null(pc.if_else(same, behind, later), True)
        if self.lsn:
            own, row = changes[LSN], rows[self.lsn]
            twice = pc.or_kleene(pc.greater(change, partition), pc.and_kleene(same, behind))
            newer = pc.coalesce(pc.if_else(pc.equal(own, row), twice, pc.greater(own, row)), newer)
        flags: NDArray[np.bool_] = newer.to_numpy()
        return flags

    def _numbers(self, changes: pa.Table, *names: str) -> list[Numbers]:
        """Columns to sort by, the last one first."""
        return [numbers_of(changes[name]) for name in names]


def numbers_of(column: pa.ChunkedArray) -> Numbers:
    """A column to sort by; what says nothing comes first."""
    numbers: Numbers = pc.fill_null(column.cast(pa.int64()), LONG_AGO).to_numpy()
    return numbers


def _with_greatest(rows: pa.Table, names: Sequence[str], order: Numbers) -> pa.Table:
    """Of the rows that are alike in some columns the one that comes last in an order."""
    ranks = np.empty(len(rows), np.int64)
    ranks[order] = np.arange(len(rows))
    ranked = pa.table({name: stored(rows[name]) for name in names}).append_column(_RANK, pa.array(ranks))
    best = ranked.group_by(list(names), use_threads=False).aggregate([(_RANK, "max")])
    if len(best) == len(rows):
        return rows
    chosen = np.zeros(len(rows), bool)
    chosen[order[best[f"{_RANK}_max"].to_numpy()]] = True
    return rows.filter(pa.array(chosen))


class KeyIndex:
    """Finds keys of one or several columns among some that are all different."""

    def __init__(self, keys: pa.Table) -> None:
        first, *others = map(stored, keys.columns)
        self._first, self._codes = first, None
        self._others: list[tuple[pa.Array, pa.Array]] = []
        if others:
            known = pc.unique(first)
            self._first, codes = known, pc.index_in(first, value_set=known).cast(pa.int64())
            for column in others:
                values = pc.unique(column)
                pairs = _pairs(codes, column, values)
                self._others.append((values, pc.unique(pairs)))
                codes = pc.index_in(pairs, value_set=self._others[-1][1]).cast(pa.int64())
            self._codes = codes

    def find(self, columns: Iterable[pa.ChunkedArray]) -> pa.ChunkedArray:
        """For each of other keys the place of the same one; null where there is none."""
        first, *others = map(stored, columns)
        codes = pc.index_in(first, value_set=self._first)
        for column, (values, pairs) in zip(others, self._others, strict=True):
            codes = pc.index_in(_pairs(codes.cast(pa.int64()), column, values), value_set=pairs)
        return codes if self._codes is None else pc.index_in(codes.cast(pa.int64()), value_set=self._codes)


def _pairs(codes: pa.ChunkedArray, column: pa.ChunkedArray, values: pa.Array) -> pa.ChunkedArray:
    """One number for each pair of a code and a value; null where one is not known."""
    codes_of_values = pc.index_in(column, value_set=values).cast(pa.int64())
    return pc.add(pc.multiply(codes, max(1, len(values))), codes_of_values)
