"""Compaction: small files become files of the right size."""
