"""From when to when each version of a row held: docs/cdc.md, "History"."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from frazil_verify.changes.newest import follow, without_echoes
from frazil_verify.changes.truncates import Truncate, is_older
from frazil_verify.entries import DELETE, GOOD, NO_LSN, Entries, digest

Moments = npt.NDArray[np.int64]

_NEVER = 2**63 - 1


def versions(changes: Entries, truncates: list[Truncate]) -> Entries:
    """The versions of every key; `own` says from when to when each holds, and whether it does now.

    Args:
        changes: Of good records; `lsn` is when the source made each, in microseconds.
        truncates: Those of the source's table.
    """
    changes = without_echoes(changes)
    begins = _begins(changes)
    order = np.lexsort([changes["offset"], changes["partition"], begins, changes["identity"]])
    changes, begins = changes[order], begins[order]
    ends = _ends(changes, begins, truncates)
    changes["own"] = [
        digest((_moment(begin), None if end == _NEVER else end, end == _NEVER))
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
    ]
    changes["kind"] = GOOD
    return changes


def _begins(changes: Entries) -> Moments:
    """When each version begins: not before the one before it in its partition, whatever the clock says."""
    if not len(changes):
        return changes["lsn"]
    known, ranks = np.unique(changes["lsn"], return_inverse=True)
    first = np.cumsum(~follow(changes)) * len(changes)
    latest: Moments = known[np.maximum.accumulate(first + ranks.ravel()) - first]
    return latest


def _ends(changes: Entries, begins: Moments, truncates: list[Truncate]) -> Moments:
    """When each version ends: a delete at once, others with the next one or a truncate behind them."""
    ends = np.full(len(changes), _NEVER)
    follows = changes["identity"][1:] == changes["identity"][:-1]
    ends[:-1][follows] = begins[1:][follows]
    for each in truncates:
        emptied = np.where(is_older(changes, each), np.maximum(begins, each.at), _NEVER)
        ends = np.minimum(ends, emptied)
    gone: Moments = np.where(changes["kind"] == DELETE, begins, ends)
    return gone


def _moment(begin: int) -> int | None:
    return None if begin == NO_LSN else begin
