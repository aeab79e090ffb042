"""What the query of each kind of table must not hold, if new rows alone are to be read."""

from __future__ import annotations

from frazil.derive.query import Query
from frazil.derived_spec import DerivedSpec

__all__ = ["refuse_unfit"]


def refuse_unfit(query: Query, spec: DerivedSpec) -> None:
    """Refuses a query that its kind of table can't be made by.

    Raises:
        SpecError: Names every such part of the query with its place.
    """
