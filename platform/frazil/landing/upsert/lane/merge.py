"""Second step of an upsert's tasks: changes of a partition of the table, merged with the rows there.

Of a file that may hold a changed key only the columns of the key and of the row's place are read, and the
whole of it where one goes.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.exact import value_of
from frazil.landing.lane.intake import BAD
from frazil.landing.upsert.lane.deal import DELETED
from frazil.landing.upsert.lane.newest import Identity, KeyIndex
from frazil.landing.upsert.packing import pack
from frazil.tables.parquet import FILES, FileLayout, WrittenFile
from frazil.tables.task import begin_task, rows_of, unpacked
from frazil.tables.transfer import LARGEST, Moved, OldFile, move_rows, rows_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

MERGED = pa.schema(
    [
        ("report", pa.string()), ("bad", pa.list_(BAD)), ("merge", pa.string()), ("files", FILES),
    ]
)  # fmt: skip
"""What a task of the first step counted, or what became of one partition of the table, and its new files."""


@dataclass(frozen=True, slots=True)
class HeadFile:
    """A file of the head, and what its manifest says of the columns of the key: least and greatest value."""

    file: OldFile
    bounds: tuple[tuple[Any, Any] | None, ...]


@dataclass(slots=True)
class Counts:
    """What became of the changes of one partition."""

    received: int = 0  # changes
    come: int = 0  # rows that came
    rows: int = 0  # of the files that go
    gone: int = 0  # of these, as their keys and places say
    left_out: int = 0  # of these, as they were written anew
    deleted: int = 0  # of these by a delete
    values: dict[str, int] = field(default_factory=dict)  # that the new files must hold, by column

    def add(self, moved: Moved) -> list[WrittenFile]:
        """Counts what was written; gives the files."""
        self.rows, self.left_out = self.rows + moved.rows, self.left_out + moved.gone
        for name, number in moved.values.items():
            self.values[name] = self.values.get(name, 0) + number
        return moved.files


@dataclass(frozen=True, slots=True)
class _Met:
    """The rows of one file whose keys changed: for each the place of its change."""

    file: OldFile
    changes: NDArray[np.int64]
    newer: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Merge:
    """What tasks of the second step are told."""

    layout: FileLayout
    identity: Identity
    files: Mapping[str, tuple[HeadFile, ...]]  # of the head, by partition
    anew: bool  # whether offsets may have begun anew
    apart: bool  # whether each file is written anew by itself, for bounds tell files apart
    small: float  # bytes below which a file is small
    most: float  # bytes that one of small ones may have
    version: str  # of Frazil

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Merges what the first step dealt out; rows of `MERGED`."""
        begin_task(self.version)
        found: dict[str, list[pa.Table]] = {}
        for batch in batches:
            told = batch.filter(batch["report"].is_valid())
            if len(told):
                yield rows_of(MERGED, report=told["report"], bad=told["bad"])
            for place, rows in zip(batch["place"], batch["rows"], strict=True):
                if rows.is_valid:
                    found.setdefault(value_of(place), []).append(unpacked(rows.as_buffer()))
        names = (f"{number:05}-{uuid.uuid4()}" for number in count())
        for place in sorted(found):
            yield self._merged(place, pa.concat_tables(found.pop(place)).combine_chunks(), names)

    def _merged(self, place: str, received: pa.Table, names: Iterator[str]) -> pa.RecordBatch:
        changes = self.identity.newest(received)
        met = list(self._met(changes, self.files.get(place, ())))
        wins = np.ones(len(changes), bool)
        for each in met:
            wins[each.changes[~each.newer]] = False  # the row is newer, so it stays
        ends = changes[DELETED].to_numpy() & wins
        come = changes.filter(pa.array(wins & ~ends)).drop_columns([DELETED])
        counts = Counts(len(received), len(come))
        going = [each.file for each in met if wins[each.changes].any()]
        counts.gone = sum(int(wins[each.changes].sum()) for each in met)
        counts.deleted = sum(int(ends[each.changes].sum()) for each in met)
        keys = changes.select(list(self.identity.key)).filter(pa.array(wins))
        files = self._written(going, keys, come, names, counts)
        told = json.dumps({**asdict(counts), "removed": [f.path for f in going]})
        return rows_of(MERGED, merge=pa.array([told]), files=pa.array([[asdict(f) for f in files]], FILES))

    def _met(self, changes: pa.Table, files: Sequence[HeadFile]) -> Iterator[_Met]:
        """The rows of changed keys, of each file that has some."""
        key, places = list(self.identity.key), self.identity.places
        index, numbers = KeyIndex(changes.select(key)), changes.select(list(places))
        for each in files:
            if not _may_hold(each, changes, key):
                continue
            rows = pa.Table.from_batches(
                rows_in(self.layout, [each.file], [*key, *places]),
                pa.schema([self.layout.schema.field(n) for n in (*key, *places)]),
            )
            found = index.find(rows[name] for name in key)
            at = np.flatnonzero(found.is_valid().to_numpy())
            if not len(at):
                continue
            hit = found.drop_null().to_numpy().astype(np.int64)
            newer = self.identity.is_newer(numbers.take(hit), rows.take(at), anew=self.anew)
            yield _Met(each.file, hit, newer)

    def _written(
        self,
        going: Sequence[OldFile],
        keys: pa.Table,
        come: pa.Table,
        names: Iterator[str],
        counts: Counts,
    ) -> list[WrittenFile]:
        """Writes anew what is left of the files that go, and the rows that came."""
        small = 0.0 if self.apart else self.small
        packed = pack(going, lambda f: f.bytes, come.nbytes, small, self.most)
        layout, found = replace(self.layout, target=LARGEST), []
        bins = [*((f,) for f in packed.alone), *([packed.together] if packed.together else [])]
        for bin_ in bins:
            takes = packed.takes and bin_ is packed.together
            found += counts.add(
                move_rows(layout, next(names), bin_, keys, come.to_batches() if takes else ())
            )
        if not packed.takes and len(come):
            found += counts.add(move_rows(self.layout, next(names), (), None, come.to_batches()))
        return found


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
