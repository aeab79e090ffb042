"""Of the changes of keys those that count, and which entries are of one key or one record."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from frazil_verify.entries import DELETE, GOOD, TOMBSTONE, Entries


def newest_changes(changes: Entries) -> Entries:
    """Of each key the change that counts: of a partition the last, of these the newest by timestamp.

    Source: docs/upsert.md, "What wins".
    """
    changes = changes[np.lexsort((changes["offset"], changes["partition"], changes["identity"]))]
    changes = changes[last_of(changes, ["identity", "partition"])]
    changes = changes[np.lexsort((changes["partition"], changes["time"], changes["identity"]))]
    return changes[last_of(changes, ["identity"])]


def rows_left(changes: Entries) -> Entries:
    """Of each key what its row must be where deleted rows stay.

    A deleted row has the values that it had last, and the metadata columns of the record that deleted it. A
    key without values before its delete has no row. Source: docs/cdc.md, "Soft deletes".
    """
    changes = _without_echoes(changes)
    newest = newest_changes(changes)
    had = newest_changes(changes[changes["kind"] == GOOD])
    deleted = np.flatnonzero(newest["kind"] == DELETE)
    at = matched(newest[deleted], had, ["identity"])
    marked, values = deleted[at >= 0], had[at[at >= 0]]
    for name in ("row", "older"):
        newest[name][marked] = values[name]
    newest["kind"][marked] = GOOD
    return newest


def _without_echoes(changes: Entries) -> Entries:
    """Changes without tombstones that follow a delete of their key in its partition; others are deletes."""
    changes = changes[np.lexsort((changes["offset"], changes["partition"], changes["identity"]))]
    ends = changes["kind"] != GOOD
    follows = np.zeros(len(changes), bool)
    same = [changes[name][1:] == changes[name][:-1] for name in ("identity", "partition")]
    follows[1:] = same[0] & same[1] & ends[:-1]
    kept: Entries = changes[~(follows & (changes["kind"] == TOMBSTONE))]
    kept["kind"][kept["kind"] == TOMBSTONE] = DELETE
    return kept


def last_of(entries: Entries, names: list[str]) -> npt.NDArray[np.bool_]:
    """Which of sorted entries are the last ones with their values of some fields."""
    last = np.ones(len(entries), bool)
    if len(entries) > 1:
        last[:-1] = np.any([entries[name][1:] != entries[name][:-1] for name in names], axis=0)
    return last


def matched(wanted: Entries, present: Entries, names: list[str]) -> npt.NDArray[np.int64]:
    """Where each of the wanted stands among what is held; -1 where it does not. Both have each once."""
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
