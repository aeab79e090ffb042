"""Masks: what a table gets of a field in the place of its values."""
