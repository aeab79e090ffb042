"""Schemas from JSON that has none: what its objects show, and what they do not."""
