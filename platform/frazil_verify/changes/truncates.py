"""What a database's truncate ends: docs/cdc.md, "Truncates"."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from frazil_verify.changes.newest import last_of, newest_changes
from frazil_verify.entries import DELETE, GOOD, Entries

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Truncate:
    """A change that emptied the source's table.

    Args:
        time: The record's timestamp, in milliseconds.
        at: When the source did it, in microseconds; or where in its log, if that says the order.
    """

    partition: int
    offset: int
    time: int
    at: int


def is_older(changes: Entries, truncate: Truncate) -> Flags:
    """Which changes a truncate ends: within its partition by the offset, else by the timestamp."""
    before = changes["offset"] < truncate.offset
    earlier = changes["time"] < truncate.time
    older: Flags = np.where(changes["partition"] == truncate.partition, before, earlier)
    return older


def emptied(
    changes: Entries, truncates: list[Truncate], *, marks: bool, by_log: bool = False
) -> tuple[Entries, Entries]:
    """The changes of which it is known what truncates left of them, and those of other keys.

    A change that is older than a truncate of its partition deletes its row. What became of an older one of
    another partition goes by what landed together, which the records do not tell.

    Args:
        changes: Of good records.
        truncates: Those of the source's table.
        marks: Whether rows stay that a truncate ends, with marks of its own: then they are not known.
        by_log: Whether the source's log may say what is older.
    """
    newest = changes if by_log else newest_changes(changes)
    older, ended = _hits(newest, truncates, by_log=by_log)
    unsure = older if marks else older & ~(ended & np.isin(newest["identity"], _of_one_partition(changes)))
    odd = np.isin(changes["identity"], newest["identity"][unsure])
    changes = changes.copy()
    changes["kind"][_hits(changes, truncates)[1] & (changes["kind"] == GOOD)] = DELETE
    return changes[~odd], changes[odd]


def _hits(changes: Entries, truncates: list[Truncate], *, by_log: bool = False) -> tuple[Flags, Flags]:
    """Which changes may be older than a truncate, and which are, for it is in their partition."""
    older, ended = np.zeros((2, len(changes)), bool)
    for each in truncates:
        hit = is_older(changes, each)
        older |= hit | (changes["lsn"] < each.at) if by_log else hit
        ended |= hit & (changes["partition"] == each.partition)
    return older, ended


def _of_one_partition(changes: Entries) -> npt.NDArray[np.bytes_]:
    """The keys whose changes are all in one partition."""
    ordered = changes[np.lexsort((changes["partition"], changes["identity"]))]
    keys, counts = np.unique(
        ordered["identity"][last_of(ordered, ["identity", "partition"])], return_counts=True
    )
    alone: npt.NDArray[np.bytes_] = keys[counts == 1]
    return alone
