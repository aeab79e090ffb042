"""Second step of an upsert's tasks: changes of a partition of the table, merged with the rows there.

Of a file that may hold a changed key only the columns of the key and of the row's place are read, and the
whole of it where one goes.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from frazil.exact import value_of, values_of
from frazil.landing.lane.intake import BAD
from frazil.landing.upsert.lane.deal import tasks_by_place
from frazil.landing.upsert.lane.met import HeadFile, Meeting, Met, kept_ids
from frazil.landing.upsert.lane.rules import Rules
from frazil.landing.upsert.packing import pack
from frazil.landing.upsert.truncates.truncate import last_truncates, read_truncates
from frazil.landing.upsert.words import DELETED, TOMBSTONE
from frazil.tables.format_v3.row_ids import changed
from frazil.tables.format_v3.vector_files import write_vector
from frazil.tables.metadata.files import LARGEST
from frazil.tables.writing.parquet import FILES, FileLayout, WrittenFile, count_rows
from frazil.tables.writing.presence import total_of
from frazil.tables.writing.sorting import SortKey, sorted_rows
from frazil.tables.writing.task import begin_task, rows_of, unpacked
from frazil.tables.writing.transfer import Moved, OldFile, move_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]
    Places = NDArray[np.int64]

MERGED = pa.schema(
    [
        ("report", pa.string()), ("bad", pa.list_(BAD)), ("merge", pa.string()), ("files", FILES),
    ]
)  # fmt: skip
"""What a task of the first step counted, or what became of one partition of the table, and its new files."""


@dataclass(slots=True)
class Counts:
    """What became of the changes of one partition."""

    received: int = 0  # changes
    added: int = 0  # rows that came
    rows: int = 0  # of the files that go
    gone: int = 0  # of the table, as keys and places say
    left_out: int = 0  # of these, as they were written anew
    vectored: int = 0  # of these in files that stay
    bare: int = 0  # of these without a row that comes in their place
    marked: int = 0  # of these that stay, and are marked
    deleted: int = 0  # of these by a delete
    values: dict[str, int] = field(default_factory=dict)  # that the new files must hold, by column
    values_added: dict[str, int] = field(default_factory=dict)  # of the rows that came, marked ones too
    values_gone: dict[str, int] = field(default_factory=dict)  # of those that were left out

    def add(self, moved: Moved) -> list[WrittenFile]:
        """Counts what was written; gives the files."""
        self.rows, self.left_out = self.rows + moved.rows, self.left_out + moved.gone
        self.values = total_of([self.values, moved.values])
        self.values_gone = total_of([self.values_gone, moved.values_gone])
        return moved.files


_Loss = tuple[OldFile, "Places"]
"""A file, and where the rows stand that go, among those that are not deleted yet."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What becomes of one partition."""

    going: tuple[OldFile, ...]  # files that are written anew
    staying: tuple[_Loss, ...]  # files that lose rows by vectors
    keys: pa.Table  # whose rows they lose
    added: pa.Table  # rows that come


@dataclass(frozen=True, slots=True)
class Merge:
    """What tasks of the second step are told."""

    layout: FileLayout
    rules: Rules  # without the truncates that come
    files: Mapping[str, tuple[HeadFile, ...]]  # of the head, by partition
    apart: bool  # whether each file is written anew by itself, for bounds tell files apart
    small: float  # bytes below which a file is small
    most: float  # bytes that one of small ones may have
    tasks: int  # of this step
    version: str  # of Frazil
    order: tuple[SortKey, ...] = ()  # of the rows that come; empty: as they come
    vectors: float = 0.0  # share of a file's rows that a vector may delete; 0: it is written anew
    vectors_from: float = 0.0  # bytes of a file that may have a vector

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Merges what the first step dealt out; rows of `MERGED`."""
        begin_task(self.version)
        by_place, truncates, task = dict[str, list[pa.Table]](), list[str](), -1
        for batch in batches:
            reports = batch.filter(batch["report"].is_valid())
            if len(reports):
                yield rows_of(MERGED, report=reports["report"], bad=reports["bad"])
            for place, rows in zip(batch["place"], batch["rows"], strict=True):
                if rows.is_valid:
                    by_place.setdefault(value_of(place), []).append(unpacked(rows.as_buffer()))
            empties = batch.filter(batch["truncate"].is_valid())
            truncates += values_of(empties["truncate"])
            task = values_of(empties["task"])[0] if len(empties) else task
        if truncates:
            known = tasks_by_place(self.files, self.tasks)
            by_place = {place: [] for place, own in known.items() if own == task} | by_place
        last = last_truncates(read_truncates(truncates))
        meeting = Meeting(self.layout, replace(self.rules, truncates=last))
        names = (f"{number:05}-{uuid.uuid4()}" for number in count())
        for place in sorted(by_place):
            yield self._merged(place, self._received(by_place.pop(place)), meeting, names)

    def _received(self, parts: Sequence[pa.Table]) -> pa.Table:
        if parts:
            return pa.concat_tables(parts).combine_chunks()
        own = [pa.field(name, pa.bool_()) for name in (DELETED, *([TOMBSTONE] if self.rules.soft else []))]
        return pa.schema([*self.layout.schema, *own]).empty_table()

    def _merged(
        self, place: str, received: pa.Table, meeting: Meeting, names: Iterator[str]
    ) -> pa.RecordBatch:
        counts, files = Counts(len(received)), self.files.get(place, ())
        outcome = self._outcome(meeting, meeting.changes(received), files, counts)
        count_rows(counts.values_added, outcome.added)
        written = self._written(outcome, names, counts)
        vectors = [write_vector(self.layout, next(names), *each) for each in outcome.staying]
        removals = {"removed": [f.path for f in outcome.going], "vectors": [asdict(v) for v in vectors]}
        document = json.dumps(asdict(counts) | removals)
        return rows_of(MERGED, merge=pa.array([document]), files=pa.array([[f.row for f in written]], FILES))

    def _outcome(
        self, meeting: Meeting, changes: pa.Table, files: Sequence[HeadFile], counts: Counts
    ) -> _Outcome:
        met = list(meeting.met(changes, files))
        wins, meets = _standing(changes, met)
        if self.layout.row_ids:
            changes = changed(changes, kept_ids(met, len(changes)))
        bare, soft = changes[DELETED].to_numpy(), self.rules.soft
        ends = bare | self.rules.are_deleted(changes)
        added = self._new_rows(changes, wins, meets)
        counts.added = sum(map(len, added))
        keys, losing = [self._keys(changes).filter(pa.array(wins))], list[_Loss]()
        for each in met:
            goes = each.won & each.of_changes(wins, True)
            alone = goes & each.of_changes(bare, True)
            counts.gone, counts.bare = counts.gone + int(goes.sum()), counts.bare + int(alone.sum())
            counts.deleted += int((goes & ~each.deleted & each.of_changes(ends, True)).sum())
            keys.append(self._keys(each.rows).filter(pa.array(goes & ~each.meets)))
            losing += [(each.file, each.at[goes])] if goes.any() else []
            if soft and alone.any():
                added.append(meeting.left_marked(each, alone, changes))
        counts.marked = sum(map(len, added)) - counts.added
        staying = tuple(loss for loss in losing if self._stays(*loss))
        counts.vectored = sum(len(places) for _, places in staying)
        going = tuple(loss[0] for loss in losing if not self._stays(*loss))
        rows = sorted_rows(pa.concat_tables([self._rows(of) for of in added]), self.order)
        return _Outcome(going, staying, pa.concat_tables(keys), rows)

    def _new_rows(self, changes: pa.Table, wins: Flags, meets: Flags) -> list[pa.Table]:
        """The rows that changes make, whatever the table has."""
        bare, soft = changes[DELETED].to_numpy(), self.rules.soft
        added = [self._rows(changes).filter(pa.array(wins & ~bare))]
        if soft and soft.identity.lsn:  # else an older change, landed later, would make the row again
            added.append(soft.alone(self._rows(changes).filter(pa.array(bare & ~meets))))
        return added

    def _stays(self, file: OldFile, gone: Places) -> bool:
        """Whether a file loses rows by a vector: few of many."""
        if not self.vectors or file.bytes < self.vectors_from or any(each.keys for each in file.deletes):
            return False
        before = sum(each.vector.rows if each.vector else file.rows for each in file.deletes)
        return before + len(gone) <= self.vectors * file.rows

    def _rows(self, changes: pa.Table) -> pa.Table:
        """The columns of the table, and of ids where rows have some."""
        own = self.layout.of_moved_rows.schema
        return pa.Table.from_arrays([changes[name] for name in own.names], schema=own)

    def _keys(self, rows: pa.Table) -> pa.Table:
        return pa.table({name: rows[name] for name in self.rules.identity.key})

    def _written(self, outcome: _Outcome, names: Iterator[str], counts: Counts) -> list[WrittenFile]:
        """Writes anew what is left of the files that go, and the rows that came."""
        small, added = 0.0 if self.apart else self.small, outcome.added
        packed = pack(outcome.going, lambda f: f.bytes, added.nbytes, small, self.most)
        layout, written = replace(self.layout, target=LARGEST), []
        bins = [*((f,) for f in packed.alone), *([packed.together] if packed.together else [])]
        for bin_ in bins:
            takes = packed.takes and bin_ is packed.together
            rows = added.to_batches() if takes else ()
            written += counts.add(move_rows(layout, next(names), bin_, outcome.keys, rows))
        if not packed.takes and len(added):
            written += counts.add(move_rows(self.layout, next(names), (), None, added.to_batches()))
        return written


def _standing(changes: pa.Table, met: Iterable[Met]) -> tuple[Flags, Flags]:
    """Of each change whether it wins over what the table has, and whether it meets a row."""
    wins, meets = np.ones(len(changes), bool), np.zeros(len(changes), bool)
    for each in met:
        meets[each.changes[each.meets]] = True
        wins[each.changes[each.meets & ~each.won]] = False  # the row is newer, so it stays
    return wins, meets
