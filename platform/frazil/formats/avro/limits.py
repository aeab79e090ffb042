"""Bounds without which a few damaged bytes could claim any memory."""

from __future__ import annotations

# Kafka's records are of 1 MB at most by default.
MOST_ITEMS, MOST_BYTES = 1_000_000, 16 * 2**20
"""Most items of an array or a map, and most bytes of a text or of bytes."""
