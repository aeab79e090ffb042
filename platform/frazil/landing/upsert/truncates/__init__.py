"""Truncates: records that say that the source emptied its table."""
