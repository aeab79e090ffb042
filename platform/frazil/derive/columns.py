"""The columns that a query makes, with their types, where those of its inputs are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from frazil.derive.query import Query

__all__ = ["UNKNOWN", "Column", "typed"]

Column = tuple[str, str]
"""A column's name and its type, as Spark writes it."""

UNKNOWN = "unknown"
"""A type that only Spark can tell."""


def typed(query: Query, tables: Mapping[str, Sequence[Column]]) -> tuple[Column, ...]:
    """The columns of a query's output.

    Args:
        query: The query.
        tables: The columns of each of its inputs, named as the query names them.

    Raises:
        SpecError: It names a column that no input has.
    """
    raise NotImplementedError
