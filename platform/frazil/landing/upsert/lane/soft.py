"""Rows that are deleted and stay, with the values that they had last, and the marks of their delete.

The marks are the metadata columns: where the deleting record is, what it did, and since when the row is gone.
A delete has the last values of its row where they came with it; else it is bare, and the table may have them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.landing.upsert.lane.newest import LONG_AGO, Identity, numbers_of
from frazil.landing.upsert.words import DELETED, LSN, TOMBSTONE
from frazil.tables.format_v3.fields import LAST_UPDATED_COLUMN
from frazil.tables.writing.parquet import stored

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]
    Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Soft:
    """What tells rows apart, and the columns that say that one is deleted, by their names in files.

    Args:
        marks: The metadata columns, which a delete fills anew.
        op: What was done last.
        deleted: Whether the row is deleted.
        deleted_at: Since when.
        lsn: Where it stands in the source's log; a tombstone has none, then the row keeps its own.
    """

    identity: Identity
    marks: tuple[str, ...]
    op: str
    deleted: str
    deleted_at: str
    lsn: str

    def needed(self, changes: pa.Table) -> pa.Table:
        """Changes by which the newest one, and the last values of its row, can be told.

        By the source's log that may be any.
        """
        if self.identity.lsn:
            return changes
        run = _Run(changes, self.identity)
        places = np.union1d(run.last_of_partitions(run.order), run.last_of_partitions(run.puts))
        return changes.take(pa.array(places)) if len(places) < len(changes) else changes

    def newest(self, changes: pa.Table) -> pa.Table:
        """The newest change of each key, with the last values of its row where these are known.

        `DELETED` says of which they are not; `LSN` where each stands in the source's log.
        """
        run = _Run(changes, self.identity)
        newest, puts = (self._newest(run, places) for places in (run.order, run.puts))
        values = np.full(len(changes), -1)
        values[run.keys[puts]] = puts  # there are no more keys than changes
        known = run.deleted[newest] & (values[run.keys[newest]] >= 0)
        taken = np.where(known, values[run.keys[newest]], newest)
        taken_rows, rows = changes.take(pa.array(taken)), changes.take(pa.array(newest))
        log = pc.coalesce(rows[self.lsn], taken_rows[self.lsn])
        bare = pa.array(run.deleted[newest] & ~known)
        columns = {
            name: rows[name] if name in self.marks else taken_rows[name] for name in changes.column_names
        }
        columns |= {self.lsn: log, DELETED: bare, TOMBSTONE: rows[TOMBSTONE]}
        if self.identity.lsn:
            columns[LSN] = pc.if_else(bare, pa.array(run.lsn[newest], mask=run.lsn[newest] == LONG_AGO), log)
        return pa.table(columns)

    def _newest(self, run: _Run, places: Places) -> Places:
        """Of some changes the newest one of each key."""
        by = [run.offset, run.partition, run.lsn]
        if not self.identity.lsn:
            places, by = run.last_of_partitions(places), [run.partition, run.timestamp]
        ordered = places[np.lexsort([*(numbers[places] for numbers in by), run.keys[places]])]
        return ordered[_ends(run.keys[ordered])]

    def marked(self, rows: pa.Table, changes: pa.Table) -> pa.Table:
        """Rows of the table, with the marks of the bare changes that end them."""
        marks = {name: changes[name] for name in self.marks}
        marks |= {self.lsn: pc.coalesce(changes[self.lsn], rows[self.lsn])}
        return _with(rows, marks | {LAST_UPDATED_COLUMN: pa.nulls(len(rows), pa.int64())})

    def emptied(self, rows: pa.Table, older: Flags, times: Places) -> pa.Table:
        """Rows of which some are older than a truncate that was done at those times; these are marked."""
        hit = pa.array(older & ~self.are_deleted(rows))
        marks: Mapping[str, Any] = {
            self.op: "t",
            self.deleted: True,
            self.deleted_at: pa.array(times).cast(rows[self.deleted_at].type),
            LAST_UPDATED_COLUMN: pa.scalar(None, pa.int64()),
        }
        own = {name: mark for name, mark in marks.items() if name in rows.column_names}
        return _with(rows, {name: pc.if_else(hit, mark, rows[name]) for name, mark in own.items()})

    def are_deleted(self, rows: pa.Table) -> Flags:
        """Which rows are deleted."""
        flags: Flags = rows[self.deleted].fill_null(False).to_numpy()
        return flags

    def alone(self, changes: pa.Table) -> pa.Table:
        """Bare changes as rows: of the key, and of the marks."""
        own = {*self.identity.key, *self.marks}
        lacking = {f.name: pa.nulls(len(changes), f.type) for f in changes.schema if f.name not in own}
        return _with(changes, lacking)


class _Run:
    """Changes by key, partition and offset."""

    def __init__(self, changes: pa.Table, identity: Identity) -> None:
        names = identity.partition, identity.offset, identity.timestamp
        self.partition, self.offset, self.timestamp = (numbers_of(changes[name]) for name in names)
        self.keys = _codes(changes, identity.key)
        self.deleted = changes[DELETED].to_numpy()
        order = np.lexsort([self.offset, self.partition, self.keys])
        echoes = changes[TOMBSTONE].to_numpy()[order] & ~self._begins(order)
        echoes[1:] &= self.deleted[order][:-1]
        self.order = order[~echoes]
        """The places of changes, without tombstones that follow the delete of their row, and know less."""
        self.puts = self.order[~self.deleted[self.order]]
        self.lsn = self._log(numbers_of(changes[identity.lsn])) if identity.lsn else self.offset

    def last_of_partitions(self, places: Places) -> Places:
        """Of some changes in order the last one of each key in each partition."""
        return places[np.append(self._begins(places)[1:], True)] if len(places) else places

    def _begins(self, places: Places) -> Flags:
        """Whether each of some changes in order is the first one of its key and partition."""
        keys, partitions, begins = self.keys[places], self.partition[places], np.ones(len(places), bool)
        begins[1:] = (keys[1:] != keys[:-1]) | (partitions[1:] != partitions[:-1])
        return begins

    def _log(self, own: Places) -> Places:
        """Where each change stands in the source's log; what says nothing is where the one before is."""
        places = np.arange(len(self.order))
        known = own[self.order] != LONG_AGO
        begin = np.maximum.accumulate(np.where(self._begins(self.order), places, 0))
        last = np.maximum.accumulate(np.where(known, places, -1))
        logs = np.full(len(own), LONG_AGO)
        logs[self.order] = np.where(last >= begin, own[self.order][last], LONG_AGO)
        return logs


def _ends(keys: Places) -> Flags:
    """Whether each of some sorted keys is the last one of its kind."""
    return np.append(keys[1:] != keys[:-1], True) if len(keys) else np.zeros(0, bool)


def _codes(rows: pa.Table, names: tuple[str, ...]) -> Places:
    """A number for each key, the same for equal ones, below how many rows there are."""
    combined = np.zeros(len(rows), np.int64)
    for name in names:
        column = stored(rows[name])
        own = pc.index_in(column, value_set=pc.unique(column)).to_numpy().astype(np.int64)
        _, combined = np.unique(combined * (len(rows) + 1) + own, return_inverse=True)
    return combined


def _with(rows: pa.Table, columns: Mapping[str, Any]) -> pa.Table:
    """The same rows, some columns of them others, where they have these."""
    return pa.Table.from_arrays(
        [columns.get(name, rows[name]) for name in rows.column_names], schema=rows.schema
    )
