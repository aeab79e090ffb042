"""One bucket of records beside one bucket of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from frazil_verify.changes.history import versions
from frazil_verify.changes.newest import (
    Order,
    last_of,
    matched,
    newest_by_log,
    newest_changes,
    rows_left,
    rows_left_by_log,
    undecided,
)
from frazil_verify.changes.truncates import Truncate, emptied
from frazil_verify.entries import BAD, DELETE, GOOD, LARGE, NOT_COMPARED, SKIPPED, TOMBSTONE, UNKNOWN, Entries
from frazil_verify.findings import Finding
from frazil_verify.log.records import Span

_PLACE = ["partition", "offset"]
_VERSION = ["identity", *_PLACE]
_CHANGES = (GOOD, DELETE, TOMBSTONE)

Places = npt.NDArray[np.void]


@dataclass(frozen=True)
class Scope:
    """What a comparison may speak of.

    Args:
        landed: The offsets that the table claims to hold, by partition.
        kept: The offsets that the topic still has.
        expired_before: Rows of an older timestamp may be gone; milliseconds since the epoch.
        compacts: Whether later offsets may have lost their records, too.
    """

    landed: Mapping[int, Span]
    kept: Mapping[int, Span]
    expired_before: int | None = None
    compacts: bool = False

    def has_landed(self, partition: int, offset: int) -> bool:
        """Whether the table claims to hold an offset."""
        start, end = self.landed.get(partition, (0, 0))
        return start <= offset < end

    def has_lost(self, partition: int, offset: int) -> bool:
        """Whether a landed offset without a record may have had one."""
        is_early = self.compacts or offset < self.first_kept(partition)
        return is_early and self.has_landed(partition, offset)

    @property
    def lacks_records(self) -> bool:
        """Whether the topic may have lost records that were landed."""
        return self.compacts or any(self.first_kept(p) > start for p, (start, _) in self.landed.items())

    def first_kept(self, partition: int) -> int:
        """The first offset that can still be read."""
        return self.kept.get(partition, (0, 0))[0]


@dataclass
class Comparison:
    """Compares buckets; findings of kind `altered` get their columns later.

    Args:
        keeps_deleted: Whether deleted rows stay, with their last values.
        by_log: Whether a database's log says which change of a key is the newest.
        truncates: Changes that emptied the source's table.
        unlanded: Where records stand that are bad by their size, which have no row.
    """

    scope: Scope
    keeps_deleted: bool = False
    by_log: bool = False
    truncates: list[Truncate] = field(default_factory=list)
    unverifiable: int = 0
    expired: int = 0
    unlanded: list[tuple[int, int]] = field(default_factory=list)

    def of_appended(self, records: Entries, rows: Entries) -> Iterator[Finding]:
        """Each good record has one row, and each row a record."""
        self._note_unlanded(records, rows)
        records = _by_rows(records, rows)
        rows, doubled = _once(rows, ["partition", "offset"], records)
        yield from _named("doubled", doubled)
        at = matched(records, rows, ["partition", "offset"])
        there = records[at >= 0]
        yield from _named("bad", there[there["kind"] == BAD])
        yield from _named("unwanted", there[there["kind"] == SKIPPED])
        yield from self._altered(there, rows[at[at >= 0]])
        lacking = records[(at < 0) & (records["kind"] == GOOD)]
        yield from _named("missing", self._not_expired(lacking))
        yield from self._baseless(np.delete(rows, at[at >= 0]))

    def of_keyed(self, records: Entries, rows: Entries) -> Iterator[Finding]:
        """Each key has the row of its newest change, unless that deletes it."""
        if (records["kind"] == LARGE).any():
            self._note_unlanded(self._order(_of_kinds(records, *_CHANGES, LARGE)), rows)
        changes = _of_kinds(_by_rows(records, rows), *_CHANGES)
        changes, rows = self._decided(changes, rows)
        newest = self._left(changes, rows) if self.keeps_deleted else newest_changes(changes)
        rows, doubled = _once(rows, ["identity"], newest)
        yield from _named("doubled", doubled)
        at = matched(newest, rows, ["identity"])
        there, kept = newest[at >= 0], rows[at[at >= 0]]
        yield from self._undeleted(kept[there["kind"] == DELETE])
        lives = there["kind"] == GOOD
        same = (there["partition"] == kept["partition"]) & (there["offset"] == kept["offset"])
        yield from self._not_newest(kept[lives & ~same], changes)
        yield from self._altered(there[lives & same], kept[lives & same])
        lacking = newest[(at < 0) & (newest["kind"] == GOOD)]
        yield from _named("missing", self._not_expired(lacking))
        yield from self._baseless(np.delete(rows, at[at >= 0]))

    def of_versions(self, records: Entries, rows: Entries) -> Iterator[Finding]:
        """Each change of a key has a row, which says from when to when it held.

        Where records are gone, only some of what they say is known.
        """
        self._note_unlanded(records, rows)
        changes = versions(_of_kinds(_by_rows(records, rows), *_CHANGES), self.truncates)
        rows, doubled = _once(rows, _VERSION, changes)
        yield from _named("doubled", doubled)
        at = matched(changes, rows, _VERSION)
        there, kept = changes[at >= 0], rows[at[at >= 0]]
        if self.scope.lacks_records:
            self.unverifiable += int((there["own"] != kept["own"]).sum())
            there["own"] = kept["own"]
        yield from self._altered(there, kept)
        yield from _named("missing", self._not_echoes(changes[at < 0], records))
        yield from self._baseless(np.delete(rows, at[at >= 0]))

    def _not_echoes(self, lacking: Entries, records: Entries) -> Entries:
        """Changes without tombstones whose delete may be among the records that are gone."""
        if not self.scope.lacks_records:
            return lacking
        return lacking[matched(lacking, _of_kinds(records, TOMBSTONE), _PLACE) < 0]

    @property
    def _order(self) -> Order:
        return newest_by_log if self.by_log else newest_changes

    def _left(self, changes: Entries, rows: Entries) -> Entries:
        """A key without values before its delete may have had some in records that are gone."""
        if self.by_log:
            return rows_left_by_log(changes, rows, bare=not self.scope.lacks_records)
        return rows_left(changes)

    def _decided(self, changes: Entries, rows: Entries) -> tuple[Entries, Entries]:
        """The keys of which it is known which change is the newest, and whether a truncate ended it."""
        odd = undecided(changes) if self.by_log else changes["identity"][:0]
        changes = changes[~np.isin(changes["identity"], odd)] if len(odd) else changes
        if self.truncates:
            changes, others = emptied(changes, self.truncates, marks=self.keeps_deleted, by_log=self.by_log)
            odd = np.concatenate([odd, others["identity"]])
        of_odd = np.isin(rows["identity"], odd)
        self.unverifiable += int(of_odd.sum())
        return changes, rows[~of_odd]

    def _note_unlanded(self, records: Entries, rows: Entries) -> None:
        large = _of_kinds(records, LARGE)
        without = large[matched(large, rows, _PLACE) < 0]
        self.unlanded += [(int(each["partition"]), int(each["offset"])) for each in without]

    def _undeleted(self, rows: Entries) -> Iterator[Finding]:
        """Rows of deleted keys; where deleted rows stay, their values may be of records that are gone."""
        if self.keeps_deleted and self.scope.lacks_records:
            self.unverifiable += len(rows)
            return
        for finding in _named("undeleted", rows):
            is_landed = self.scope.has_landed(finding.partition, finding.offset)
            yield finding if is_landed else replace(finding, kind="outside")

    def _not_newest(self, rows: Entries, changes: Entries) -> Iterator[Finding]:
        """Rows of older changes of their keys, and those of what is no change of their keys."""
        known = matched(rows, changes, ["identity", "partition", "offset"]) >= 0
        gone = np.array(
            [self.scope.has_lost(int(row["partition"]), int(row["offset"])) for row in rows], bool
        )
        yield from _named("superseded", rows[known | gone])
        yield from self._baseless(rows[~(known | gone)])

    def _altered(self, records: Entries, rows: Entries) -> Iterator[Finding]:
        """Rows that are neither what their record makes now nor what it made before a column was there."""
        differ = (records["row"] != rows["row"]) & (records["older"] != rows["row"])
        differ |= records["own"] != rows["own"]
        counts = (records["row"] != NOT_COMPARED) & (records["kind"] == GOOD)
        return _named("altered", rows[differ & counts])

    def _not_expired(self, lacking: Entries) -> Entries:
        if self.scope.expired_before is None:
            return lacking
        old = lacking["time"] < self.scope.expired_before
        self.expired += int(old.sum())
        return lacking[~old]

    def _baseless(self, rows: Entries) -> Iterator[Finding]:
        for row in rows:
            partition, offset = int(row["partition"]), int(row["offset"])
            if not self.scope.has_landed(partition, offset):
                yield Finding("outside", partition, offset)
            elif self.scope.has_lost(partition, offset):
                self.unverifiable += 1
            else:
                yield Finding("baseless", partition, offset)


def _by_rows(records: Entries, rows: Entries) -> Entries:
    """Records that are bad by their size, or may be left out, are good where they have a row."""
    for kind, without in ((LARGE, BAD), (UNKNOWN, SKIPPED)):
        chosen = records["kind"] == kind
        if chosen.any():
            records = records.copy()
            records["kind"][chosen] = np.where(matched(records[chosen], rows, _PLACE) < 0, without, GOOD)
    return records


def _of_kinds(entries: Entries, *kinds: int) -> Entries:
    return entries[np.isin(entries["kind"], kinds)]


def _once(rows: Entries, names: list[str], wanted: Entries) -> tuple[Entries, Entries]:
    """One row of each, that which is wanted if there is one, and those that are too many."""
    rows = _sorted(rows, names)
    if not last_of(rows, names).all():
        fits = np.isin(rows["row"], wanted["row"])
        rows = rows[np.lexsort([fits, *(rows[name] for name in reversed(names))])]
    last = last_of(rows, names)
    return rows[last], rows[~last]


def _sorted(entries: Entries, names: list[str]) -> Entries:
    return entries[np.lexsort([entries[name] for name in reversed(names)])]


def _named(kind: str, entries: Entries) -> Iterator[Finding]:
    return (Finding(kind, int(each["partition"]), int(each["offset"])) for each in entries)
