"""Bad rows, counted by Spark on their way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.derive.queries.query import ERROR_COLUMN
from frazil.quoting import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Counted"]


class Counted:
    """Rows of a query, and how many of them it calls bad.

    Args:
        rows: As the query gives them; counted where it has a word for bad ones.
    """

    def __init__(self, rows: DataFrame) -> None:
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        self._plain = rows
        self._counter = F.expr(f"count({quoted(ERROR_COLUMN)})").alias("bad")
        self._seen = Observation("derivation") if ERROR_COLUMN in rows.columns else None
        self.rows = rows.observe(self._seen, self._counter) if self._seen else rows

    @property
    def bad(self) -> int:
        """How many are bad; once the rows were read."""
        if self._seen is None:
            return 0
        # A busy Connect server waits 100 ms for what was observed, and then sends none.
        counted = self._seen.get or self._plain.agg(self._counter).collect()[0].asDict()
        return int(counted["bad"])
