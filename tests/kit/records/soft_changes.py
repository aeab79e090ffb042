"""Changes of rows that are deleted and stay, drawn; and what a dictionary says of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from frazil.landing.upsert.lane.newest import Identity
from frazil.landing.upsert.lane.soft import Soft
from frazil.landing.upsert.words import DELETED, TOMBSTONE

__all__ = ["MICROS", "Change", "drawn", "expected", "rows_by_key", "soft", "table"]

MICROS = pa.timestamp("us", "UTC")
Change = dict[str, Any]
"""Key, partition, offset, timestamp, LSN, and value: None of a delete, `...` of a tombstone."""


def soft(lsn: str = "") -> Soft:
    marks = ("partition", "offset", "at", "op", "deleted", "deleted_at", "lsn")
    return Soft(
        Identity(("key",), "partition", "offset", "at", lsn), marks, "op", "deleted", "deleted_at", "lsn"
    )


def table(changes: Sequence[Change]) -> pa.Table:
    """Changes as tasks have them."""
    ends = [c["value"] in (None, ...) for c in changes]
    values = [None if c["value"] is ... else c["value"] for c in changes]
    columns = {
        "key": pa.array([c["key"] for c in changes], pa.string()),
        "value": pa.array(values, pa.int64()),
        "partition": pa.array([c["partition"] for c in changes], pa.int32()),
        "offset": pa.array([c["offset"] for c in changes], pa.int64()),
        "at": pa.array([c["at"] for c in changes], MICROS),
        "op": pa.array(["d" if e else "u" for e in ends], pa.string()),
        "deleted": pa.array(ends, pa.bool_()),
        "deleted_at": pa.array([c["at"] if e else None for c, e in zip(changes, ends, strict=True)], MICROS),
        "lsn": pa.array([None if c["value"] is ... else c["lsn"] for c in changes], pa.int64()),
        DELETED: pa.array(ends, pa.bool_()),
        TOMBSTONE: pa.array([c["value"] is ... for c in changes], pa.bool_()),
    }
    return pa.table(columns)


def drawn(chance: random.Random, count: int) -> list[Change]:
    """Changes of a few keys in three partitions."""
    return [
        {
            "key": f"k{chance.randrange(6)}",
            "partition": chance.randrange(3),
            "offset": offset,
            "at": chance.randrange(20),
            "lsn": chance.choice([None, *range(10)]),
            "value": chance.choice([None, ..., offset, offset]),
        }
        for offset in range(count)
    ]


def expected(changes: Sequence[Change], by_lsn: bool) -> dict[str, Any]:
    """By key: the offset of the newest change, the last value of its row, and whether it is bare."""
    rows = {}
    for key in {c["key"] for c in changes}:
        kept: list[Change] = []
        for partition in range(3):
            known, before = None, None
            for change in (c for c in changes if (c["key"], c["partition"]) == (key, partition)):
                echo = change["value"] is ... and before is not None and before["value"] in (None, ...)
                before = change
                if not echo:
                    own = None if change["value"] is ... else change["lsn"]
                    known = known if own is None else own
                    kept.append({**change, "log": -1 if known is None else known})
        puts = [c for c in kept if c["value"] not in (None, ...)]
        newest, put = (_newest(of, by_lsn) if of else None for of in (kept, puts))
        assert newest
        values = newest if newest["value"] not in (None, ...) else put
        rows[key] = (newest["offset"], values and values["value"], values is None)
    return rows


def _newest(changes: Sequence[Change], by_lsn: bool) -> Change:
    if by_lsn:
        return max(changes, key=lambda c: (c["log"], c["partition"], c["offset"]))
    last = {c["partition"]: c for c in changes}
    return max(last.values(), key=lambda c: (c["at"], c["partition"]))


def rows_by_key(arrow: pa.Table) -> dict[str, Any]:
    rows = arrow.to_pylist()
    assert len({row["key"] for row in rows}) == len(rows)
    return {row["key"]: (row["offset"], row["value"], row[DELETED]) for row in rows}
