"""Columns of changes beside those of the key: where each is from, and what it does."""

from __future__ import annotations

PARTITION, OFFSET, TIMESTAMP, LSN, DELETED, BARE, TOMBSTONE, ROW = (
    f"$frazil_{word}"
    for word in ("partition", "offset", "timestamp", "lsn", "deleted", "bare", "tombstone", "row")
)
"""`DELETED`: whether the change ends its row. `BARE`: whether it leaves no row upon the landing's branch."""
