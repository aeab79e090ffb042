"""Columns of changes beside those of the key: where each is from, and what it does."""

from __future__ import annotations

_WORDS = "partition", "offset", "timestamp", "lsn", "deleted", "bare", "tombstone", "row", "met", "wins"

PARTITION, OFFSET, TIMESTAMP, LSN, DELETED, BARE, TOMBSTONE, ROW, MET, WINS = (
    f"$frazil_{word}" for word in _WORDS
)
"""`DELETED`: whether the change ends its row. `BARE`: whether it leaves no row upon the landing's branch.
`MET`: whether it leaves none and found its row. `WINS`: whether it is newer than that."""
