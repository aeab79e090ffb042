"""How the totals of new rows are merged with the totals that a table holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from frazil.derive.query import Query

__all__ = ["Merge", "MergeFunction", "merge_of"]

MergeFunction = Literal["sum", "min", "max", "bool_and", "bool_or"]
"""What two totals of the same rows' parts become by; counts are summed."""


@dataclass(frozen=True, slots=True)
class Merge:
    """The columns of a table of totals.

    Args:
        keys: The columns that it is grouped by.
        functions: How two rows of equal keys become one, by column.
    """

    keys: tuple[str, ...]
    functions: Mapping[str, MergeFunction]


def merge_of(query: Query) -> Merge:
    """How the rows of a table of totals or windows are merged.

    Raises:
        SpecError: The query has totals that can't be merged, such as averages.
    """
    raise NotImplementedError
