"""Of the changes of keys those that count, and which entries are of one key or one record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from frazil_verify.entries import DELETE, GOOD, NO_LSN, TOMBSTONE, Entries

Places = npt.NDArray[np.int64]

Order = Callable[[Entries], Entries]
"""Of each key the change that counts."""


def newest_changes(changes: Entries) -> Entries:
    """Of each key the change that counts: of a partition the last, of these the newest by timestamp.

    Source: docs/upsert.md, "What wins".
    """
    changes = _by_keys(changes)
    changes = changes[last_of(changes, ["identity", "partition"])]
    changes = changes[np.lexsort((changes["partition"], changes["time"], changes["identity"]))]
    return changes[last_of(changes, ["identity"])]


def newest_by_log(changes: Entries) -> Entries:
    """Of each key the change that stands last in the database's log; without its places as without the log.

    Source: docs/cdc.md, "By the database's log".
    """
    has_place = np.isin(changes["identity"], changes["identity"][changes["lsn"] != NO_LSN])
    placed, others = changes[has_place], newest_changes(changes[~has_place])
    placed = placed[np.lexsort([placed[name] for name in ("offset", "partition", "lsn", "identity")])]
    newest = np.concatenate([placed[last_of(placed, ["identity"])], others])
    ordered: Entries = newest[np.argsort(newest["identity"])]
    return ordered


def undecided(changes: Entries) -> npt.NDArray[np.bytes_]:
    """The keys of which a change has no place in the log, where the log and the timestamps say two things.

    What became of them goes by what landed together, which the records do not tell.
    """
    changes = _with_places(changes)
    lacking = changes["identity"][changes["lsn"] == NO_LSN]
    odd = [lacking[:0]]
    for part in (changes, changes[changes["kind"] == GOOD]):
        by_log, by_time = newest_by_log(part), newest_changes(part)
        differ = (by_log["partition"] != by_time["partition"]) | (by_log["offset"] != by_time["offset"])
        odd.append(by_log["identity"][differ])
    return np.intersect1d(np.concatenate(odd), lacking)


def rows_left(changes: Entries) -> Entries:
    """Of each key what its row must be where deleted rows stay.

    A deleted row has the values that it had last, and the metadata columns of the record that deleted it. A
    key without values before its delete has no row. Source: docs/cdc.md, "Soft deletes".
    """
    changes = without_echoes(changes)
    newest = newest_changes(changes)
    deleted = np.flatnonzero(newest["kind"] == DELETE)
    marked = _take_values(newest, deleted, newest_changes(changes[changes["kind"] == GOOD]))
    newest["kind"][marked] = GOOD
    return newest


def rows_left_by_log(changes: Entries, rows: Entries, *, bare: bool) -> Entries:
    """The same where the database's log says the order.

    What lands behind its delete changes no deleted row: so its values are those of any change of its key, or
    none. Of those the table's own count.

    Args:
        changes: Of good records.
        rows: Those of the table.
        bare: Whether a key without values before its delete has a row of the key alone, or may have others.
    """
    changes = _with_places(changes)
    newest, good = newest_by_log(changes), changes[changes["kind"] == GOOD]
    deleted = np.flatnonzero(newest["kind"] == DELETE)
    marked = _take_values(newest, deleted, newest_by_log(good))
    before = good.copy()
    before["row"] = before["older"]
    had = np.concatenate([changes[changes["kind"] == DELETE], before, good])
    shown = had[matched(had, rows, ["identity", "row"]) >= 0]
    shown = shown[np.argsort(shown["identity"])]
    _take_values(newest, deleted, shown[last_of(shown, ["identity"])])
    newest["kind"][deleted if bare else marked] = GOOD
    return newest


def _take_values(newest: Entries, deleted: Places, had: Entries) -> Places:
    """Gives changes that delete the values of their keys; says which of them have some."""
    at = matched(newest[deleted], had, ["identity"])
    marked, values = deleted[at >= 0], had[at[at >= 0]]
    for name in ("row", "older"):
        newest[name][marked] = values[name]
    return marked


def without_echoes(changes: Entries) -> Entries:
    """Changes without tombstones that follow a delete of their key in its partition; others are deletes."""
    changes = _by_keys(changes)
    echoes = changes["kind"] == TOMBSTONE
    echoes[1:] &= changes["kind"][:-1] != GOOD
    echoes &= follow(changes)
    kept: Entries = changes[~echoes]
    kept["kind"][kept["kind"] == TOMBSTONE] = DELETE
    return kept


def _with_places(changes: Entries) -> Entries:
    """The same, where a tombstone has the place in the log of the record of its key before it."""
    changes = _by_keys(changes)
    taking = np.flatnonzero((changes["kind"] == TOMBSTONE) & follow(changes))
    changes["lsn"][taking] = changes["lsn"][taking - 1]
    return without_echoes(changes)


def _by_keys(changes: Entries) -> Entries:
    """The same in order of keys, and within each of partitions and offsets."""
    ordered: Entries = changes[np.lexsort((changes["offset"], changes["partition"], changes["identity"]))]
    return ordered


def follow(changes: Entries) -> npt.NDArray[np.bool_]:
    """Which of sorted changes follow one of the same key in the same partition."""
    after = np.zeros(len(changes), bool)
    same = [changes[name][1:] == changes[name][:-1] for name in ("identity", "partition")]
    after[1:] = same[0] & same[1]
    return after


def last_of(entries: Entries, names: list[str]) -> npt.NDArray[np.bool_]:
    """Which of sorted entries are the last ones with their values of some fields."""
    last = np.ones(len(entries), bool)
    if len(entries) > 1:
        last[:-1] = np.any([entries[name][1:] != entries[name][:-1] for name in names], axis=0)
    return last


def matched(wanted: Entries, present: Entries, names: list[str]) -> Places:
    """Where each of the wanted stands among what is held; -1 where it does not."""
    both = np.concatenate([_places(present, names), _places(wanted, names)])
    _, first, inverse = np.unique(both, return_index=True, return_inverse=True)
    places = first[inverse.ravel()[len(present) :]]
    return np.where(places < len(present), places, -1)


def _places(entries: Entries, names: list[str]) -> npt.NDArray[Any]:
    if len(names) == 1:
        return entries[names[0]]
    packed = np.empty(len(entries), [(name, entries.dtype[name]) for name in names])
    for name in names:
        packed[name] = entries[name]
    return packed
