"""The rules of upserts in one place: which change is the newest, which rows yield to it, what truncates end.

Tasks apply them to whatever they are given, be it a partition of the table or rows that Spark shuffled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.landing.upsert.lane.newest import Identity
from frazil.landing.upsert.lane.soft import Soft
from frazil.landing.upsert.truncates.truncate import Truncate
from frazil.landing.upsert.words import DELETED, TOMBSTONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Rules:
    """What decides between changes, and between a change and a row.

    Args:
        identity: What a row is of, and where its record stands.
        soft: What a delete leaves, where it leaves something.
        anew: Whether offsets may have begun anew.
        truncates: Those of the landing, the last one of each partition.
    """

    identity: Identity
    soft: Soft | None = None
    anew: bool = False
    truncates: tuple[Truncate, ...] = ()

    @property
    def order(self) -> Identity | Soft:
        """What tells the newest change of each key."""
        return self.soft or self.identity

    def is_newer(self, changes: pa.Table, rows: pa.Table) -> Flags:
        """For each pair of a change and a row of the table whether the change is newer.

        A tombstone alone says nothing new of a row that is deleted.
        """
        newer = self.identity.is_newer(changes, rows, anew=self.anew)
        if not self.soft:
            return newer
        silent: Flags = pc.and_(changes[DELETED], changes[TOMBSTONE]).to_numpy()
        return newer & ~(self.are_deleted(rows) & silent)

    def are_deleted(self, rows: pa.Table) -> Flags:
        """Which rows of the table are deleted, and stay."""
        return self.soft.are_deleted(rows) if self.soft else np.zeros(len(rows), bool)

    def are_ended(self, rows: pa.Table) -> Flags:
        """Which rows of the table a truncate ends."""
        ended, _ = older_rows(self.truncates, rows, self.identity, landed=True)
        return ended & ~self.are_deleted(rows)

    def count_emptied(self, rows: pa.Table) -> int:
        """How many new rows a truncate ends, or marks."""
        older, _ = older_rows(self.truncates, rows, self.identity)
        return int((older & ~self.are_deleted(rows)).sum())

    def emptied(self, rows: pa.Table, *, landed: bool = False) -> pa.Table:
        """Rows without those that are older than a truncate; or with these marked, where deleted ones stay.

        `landed`: whether they were in the table before. Bare deletes among changes are no rows, and stay.
        """
        if not self.truncates:
            return rows
        older, times = older_rows(self.truncates, rows, self.identity, landed=landed)
        if DELETED in rows.column_names:
            older &= ~rows[DELETED].to_numpy()
        return self.soft.emptied(rows, older, times) if self.soft else rows.filter(pa.array(~older))


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
