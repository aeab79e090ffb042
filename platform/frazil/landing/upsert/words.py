"""Columns of changes beside those of the key: where each is from, and what it does."""

from __future__ import annotations

_WORDS = "partition", "offset", "timestamp", "lsn", "deleted", "bare", "tombstone", "met", "wins", "ends"

PARTITION, OFFSET, TIMESTAMP, LSN, DELETED, BARE, TOMBSTONE, MET, WINS, ENDS = (
    f"$frazil_{word}" for word in _WORDS
)
"""`DELETED`: whether the change ends its row; in tasks, of the newest ones, whether it leaves none, which is
`BARE` beside it. `MET`: whether it leaves none and found its row. `WINS`: whether it is newer than that.
`ENDS`: whether the row is there until now and is no more, or is marked."""
