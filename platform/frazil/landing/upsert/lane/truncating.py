"""Which rows are older than a truncate, and when that was done: the source emptied its table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.landing.upsert.lane.newest import Identity
from frazil.landing.upsert.truncates.truncate import Truncate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]


def older_rows(
    truncates: Sequence[Truncate], rows: pa.Table, identity: Identity, *, landed: bool = False
) -> tuple[Flags, NDArray[np.int64]]:
    """Which rows are older than one of some truncates, and when the first one of these was done.

    `landed`: whether the rows were in the table before; then a truncate of their partition is newer.
    """
    hit, times = np.zeros(len(rows), bool), np.zeros(len(rows), np.int64)
    for truncate in reversed(truncates):
        older = _older(truncate, rows, identity, landed)
        hit |= older
        times[older] = truncate.time
    return hit, times


def _older(than: Truncate, rows: pa.Table, identity: Identity, landed: bool) -> Flags:
    partition, offset, timestamp = (
        rows[name].cast(pa.int64()) for name in (identity.partition, identity.offset, identity.timestamp)
    )
    own = pc.fill_null(pc.equal(partition, than.partition), False)
    same = pc.less(offset, than.offset) if not landed else pa.array(np.ones(len(rows), bool))
    # What is of the same millisecond was more likely inserted behind it, in one transaction.
    older = pc.if_else(own, same, pc.less(timestamp, than.timestamp))
    if identity.lsn and than.lsn is not None:
        older = pc.coalesce(pc.less(rows[identity.lsn], than.lsn), older)
    flags: Flags = pc.fill_null(older, False).to_numpy()
    return flags
