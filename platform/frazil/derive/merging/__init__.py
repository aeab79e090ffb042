"""Kinds whose new rows are merged with those that the table holds: totals, windows, the latest per key."""
