"""The dead-letter table of a derived table at a glance."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from frazil.landing.dead_letters import DeadLetters
from frazil.spec.names import TableName
from frazil.tables.catalog import load_table_or_none

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

__all__ = ["survey_letters"]


def survey_letters(catalog: Catalog, name: TableName) -> DeadLetters:
    """How many rows of a table were bad or late, and why; what follows a reason's colon is its details.

    Args:
        catalog: Where the table is.
        name: The derived table, not that of its dead letters.
    """
    import pyarrow.compute as pc

    table = load_table_or_none(catalog, name.dead_letters)
    if table is None or table.current_snapshot() is None:
        return DeadLetters(by_reason={})
    rows = table.scan(selected_fields=("reason", "found_at")).to_arrow()
    reasons = Counter[str]()
    for found in pc.value_counts(rows["reason"]).to_pylist():
        reasons[str(found["values"]).partition(":")[0]] += found["counts"]
    return DeadLetters(rows.num_rows, dict(sorted(reasons.items())), pc.max(rows["found_at"]).as_py())
