"""Landings of one row per key: each change is merged into the files that hold its row (docs/upsert.md)."""
