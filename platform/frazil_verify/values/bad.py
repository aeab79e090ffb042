"""What makes a record bad, and what a verifier can't say."""

from __future__ import annotations

from typing import Any


class BadRecordError(Exception):
    """The record can't be read as its schema says, or holds what no column can."""


class NotComparedError(Exception):
    """A column is made in a way that this verifier does not know; the others are compared."""


def bad(why: str) -> Any:
    """Raises BadRecordError, where an expression has to be."""
    raise BadRecordError(why)
