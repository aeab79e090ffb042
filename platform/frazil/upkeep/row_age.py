"""By which column the rows of a table grow old, and how old they may become."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from frazil.formats.columns import metadata_columns
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec

__all__ = ["RowAge", "row_age"]


@dataclass(frozen=True, slots=True)
class RowAge:
    """When the rows of a table expire.

    Args:
        column: Their timestamp.
        most: The age at which they are deleted.
    """

    column: str
    most: timedelta


def row_age(spec: AnyTable) -> RowAge | None:
    """None where rows are kept for ever: as those of a table that is made of others are."""
    if not isinstance(spec, TableSpec) or spec.keep_rows_for is None:
        return None
    column = next(c for c in metadata_columns(spec) if c.word == "timestamp")
    return RowAge(column.name(spec.metadata_names), spec.keep_rows_for)
