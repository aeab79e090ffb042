"""Digests of records and rows, in buckets on disk: what one comparison needs of them, and no more.

Memory is bounded by one bucket of each side, 104 bytes an entry.
"""

from __future__ import annotations

import marshal
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

ENTRY = np.dtype(
    [
        ("identity", "S16"),
        ("row", "S16"),
        ("offset", "i8"),
        ("time", "i8"),
        ("partition", "i4"),
        ("kind", "i1"),
        ("older", "S16"),
        ("own", "S16"),
        ("lsn", "i8"),
    ]
)
"""`older`: the row of a record that was landed before the table had all columns of today. `own`: the metadata
columns, where these and the others may be of two records. `lsn`: where a change stands in a log."""

NO_LSN = -(2**63)
"""Of a change that stands in no log, or nobody says where."""

GOOD, BAD, DELETE, SKIPPED, LARGE, TOMBSTONE, UNKNOWN, TRUNCATE = range(8)
"""`LARGE`: bad by its size, unless it was landed while more was allowed. `TOMBSTONE`: a delete without a
value, where that is another thing. `UNKNOWN`: a row, or left out. `TRUNCATE`: of no
key, it ends all rows."""

NOT_COMPARED = b""
"""In the place of the digest of a row whose values are not known."""

Row = tuple[Any, ...]
Entries = npt.NDArray[np.void]

_FLUSH = 4096  # entries a bucket may hold in memory


@dataclass(frozen=True)
class Made:
    """What a record makes: of which key, which row, and whether there is a row at all.

    Args:
        lsn: Where it stands in a database's log; of a version or a truncate when the source made it.
    """

    kind: int
    key: Row = ()
    row: Row | None = None
    lsn: int = NO_LSN


def digest(values: tuple[Any, ...]) -> bytes:
    """16 bytes that tell canonical values apart; never with a zero byte at the end, which NumPy would cut."""
    # Version 2 of marshal writes equal values as equal bytes: later ones refer to objects by identity.
    return blake2b(marshal.dumps(values, 2), digest_size=15).digest() + b"."


class Buckets:
    """Entries on disk, in files by a number that is the same on both sides."""

    def __init__(self, folder: Path, count: int) -> None:
        folder.mkdir(parents=True)
        self._folder, self.count = folder, count
        self._waiting: dict[int, list[tuple[Any, ...]]] = defaultdict(list)

    def add(self, bucket: int, entry: tuple[Any, ...]) -> None:
        """Adds one entry: identity, row, offset, time, partition, kind, older, own, lsn."""
        waiting = self._waiting[bucket % self.count]
        waiting.append(entry)
        if len(waiting) >= _FLUSH:
            self._flush(bucket % self.count)

    def entries(self, bucket: int) -> Entries:
        """All entries of one bucket."""
        self._flush(bucket)
        file = self._folder / str(bucket)
        return np.fromfile(file, ENTRY) if file.exists() else np.zeros(0, ENTRY)

    def _flush(self, bucket: int) -> None:
        if waiting := self._waiting.pop(bucket, None):
            with (self._folder / str(bucket)).open("ab") as file:
                np.array(waiting, ENTRY).tofile(file)


def bucket_of_place(partition: int, offset: int) -> int:
    """Where records of one stretch of a partition are compared with their rows."""
    return (offset >> 16) * 31 + partition


def bucket_of_key(identity: bytes) -> int:
    """Where the changes of a key are compared with its row."""
    return int.from_bytes(identity[:4], "big")


def buckets_for(records: Iterable[int], rows_per_bucket: int) -> int:
    """How many buckets that many records take."""
    return max(1, -(-sum(records) // rows_per_bucket))
