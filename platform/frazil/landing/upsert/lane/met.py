"""Changes that meet the rows of a partition's files: which of both stay, and which rows come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.exact import value_of
from frazil.landing.upsert.lane.newest import KeyIndex
from frazil.landing.upsert.lane.rules import Rules
from frazil.landing.upsert.words import DELETED, LSN, TOMBSTONE
from frazil.tables.format_v3.fields import ROW_ID_COLUMN
from frazil.tables.writing.parquet import FileLayout
from frazil.tables.writing.transfer import OldFile, fetched, rows_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]

_SMALL, _KEPT = 2**20, 64 * 2**20
"""Bytes of a file that is read at once, because requests cost more than its bytes; and of all such files of a
partition, which are kept until they are written anew."""


@dataclass(frozen=True, slots=True)
class HeadFile:
    """A file of the head, and what its manifest says of the columns of the key: least and greatest value."""

    file: OldFile
    bounds: tuple[tuple[Any, Any] | None, ...]


@dataclass(frozen=True, slots=True)
class Met:
    """Rows of one file whose keys changed, or that a truncate ends.

    Args:
        at: Where they stand in the file.
        changes: The place of each one's change; -1 where there is none.
        won: Whether what was done is newer than the row.
        deleted: Whether the row is deleted already.
        rows: Their keys and places, and their ids where they have some.
    """

    file: OldFile
    at: NDArray[np.int64]
    changes: NDArray[np.int64]
    won: Flags
    deleted: Flags
    rows: pa.Table

    @property
    def meets(self) -> Flags:
        """Which of them have a change."""
        return self.changes >= 0

    def of_changes(self, flags: Flags, otherwise: bool) -> Flags:
        """What is said of each one's change; of those without one `otherwise`."""
        spread = np.full(len(self.changes), otherwise)
        spread[self.meets] = flags[self.changes[self.meets]]
        return spread


@dataclass(frozen=True, slots=True)
class Meeting:
    """How rows of a table are compared with changes."""

    layout: FileLayout
    rules: Rules

    def changes(self, received: pa.Table) -> pa.Table:
        """The newest change of each key; those that a truncate ends are gone, or are marked."""
        return self.rules.emptied(self.rules.order.newest(received))

    def met(self, changes: pa.Table, files: Sequence[HeadFile]) -> Iterator[Met]:
        """The rows of changed keys, or that are older than a truncate, of each file that has some."""
        key, places = list(self.rules.identity.key), self.rules.identity.places
        index, beside = KeyIndex(changes.select(key)), (*places, DELETED, TOMBSTONE, LSN)
        columns = changes.select([name for name in beside if name in changes.column_names])
        room = _KEPT
        for each in files:
            if self.rules.truncates or _may_hold(each, changes, key):
                file = each.file
                if file.bytes <= min(_SMALL, room):
                    file, room = fetched(self.layout, file), room - file.bytes
                met = self._met(file, index, columns)
                if len(met.at):
                    yield met

    def _met(self, file: OldFile, index: KeyIndex, changes: pa.Table) -> Met:
        rules, soft = self.rules, self.rules.soft
        layout = self.layout.of_moved_rows
        names = [*rules.identity.key, *rules.identity.places, *([soft.deleted] if soft else [])]
        names += [ROW_ID_COLUMN] if layout.row_ids else []
        schema = pa.schema([layout.schema.field(name) for name in names])
        rows = pa.Table.from_batches(rows_in(layout, [file], names), schema)
        matches = index.find(rows[name] for name in rules.identity.key)
        matches = pc.fill_null(matches.cast(pa.int64()), -1).to_numpy()
        gone, ended = rules.are_deleted(rows), rules.are_ended(rows)
        at = np.flatnonzero(ended | (matches >= 0))
        won = ended[at]
        meets = np.flatnonzero(matches[at] >= 0)
        own_changes = changes.take(pa.array(matches[at][meets]))
        won[meets] |= rules.is_newer(own_changes, rows.take(pa.array(at[meets])))
        return Met(file, at, matches[at], won, gone[at], rows.take(pa.array(at)))

    def left_marked(self, met: Met, stay: Flags, changes: pa.Table) -> pa.Table:
        """Rows of a file that stay, with the marks of what ended them: a bare change, or else a truncate."""
        assert self.rules.soft
        rows = _rows_at(self.layout.of_moved_rows, met.file, met.at[stay])
        meets = met.meets[stay]
        theirs = changes.take(pa.array(met.changes[stay][meets]))
        marked = self.rules.soft.marked(rows.filter(pa.array(meets)), theirs)
        rows = rows.filter(pa.array(~meets))
        return pa.concat_tables([marked, self.rules.emptied(rows, landed=True)])


def kept_ids(met: Iterable[Met], changes: int) -> pa.ChunkedArray:
    """The row id that each of some changes takes over: that of the row which it replaces; null: of none."""
    places, ids = [np.zeros(0, np.int64)], [pa.chunked_array([], pa.int64())]
    for each in met:
        replaced = each.meets & each.won
        places.append(each.changes[replaced])
        ids.append(each.rows[ROW_ID_COLUMN].filter(pa.array(replaced)))
    places_of_ids = np.full(changes, -1)
    places_of_ids[np.concatenate(places)] = np.arange(sum(map(len, ids)))
    every = pa.chunked_array([chunk for of in ids for chunk in of.chunks], pa.int64())
    return every.take(pa.array(places_of_ids, mask=places_of_ids < 0))


def _rows_at(layout: FileLayout, file: OldFile, places: NDArray[np.int64]) -> pa.Table:
    """The rows of a file that stand at some places, in order."""
    pieces, begun = [], 0
    for batch in rows_in(layout, [file]):
        own = places[(places >= begun) & (places < begun + len(batch))] - begun
        pieces.append(batch.take(pa.array(own)))
        begun += len(batch)
    return pa.Table.from_batches(pieces, layout.schema)


def _may_hold(file: HeadFile, changes: pa.Table, key: Sequence[str]) -> bool:
    """Whether the key of any change lies within a file's bounds."""
    each = [
        pc.and_(pc.greater_equal(changes[name], low), pc.less_equal(changes[name], high))
        for name, (low, high) in _known(file, changes.schema, key)
    ]
    return not each or bool(value_of(pc.any(reduce(pc.and_, each))))


def _known(
    file: HeadFile, schema: pa.Schema, key: Sequence[str]
) -> Iterator[tuple[str, tuple[pa.Scalar, pa.Scalar]]]:
    for name, bounds in zip(key, file.bounds, strict=True):
        if bounds:
            low, high = (pa.scalar(value, schema.field(name).type) for value in bounds)
            yield name, (low, high)
