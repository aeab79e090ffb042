"""Which columns of its inputs each column of a derived table is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from frazil.derive.queries.analysis import Column, outputs
from frazil.derive.queries.query import ERROR_COLUMN, Query

__all__ = ["lineage"]


def lineage(
    query: Query, tables: Mapping[str, Sequence[Column] | None]
) -> Mapping[str, tuple[tuple[str, str], ...]]:
    """By column of the table, the (input, column) pairs that its values come from.

    Args:
        query: The query.
        tables: The columns of each of its inputs, named as the query names them; None: not known.

    Raises:
        SpecError: It names a column that no input has.
    """
    found = (column for column in outputs(query, tables, {}) if column.name != ERROR_COLUMN)
    return {column.name: tuple(sorted(column.origins)) for column in found}
