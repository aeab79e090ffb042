"""Which records become rows, by a filter over what they hold before it is masked; in Spark's workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.expressions.tree import Expression
from frazil.formats.protocol import DecodedBatch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ArrowWhere:
    """A filter over the columns of both halves; a record of which it is not true is left out, as in SQL.

    Args:
        condition: Over the columns' names; true, false or null.
        columns: The columns that it names, and whether the key has each, or else the value.
        now: The time of the landing, in microseconds since 1970.
    """

    condition: Expression
    columns: tuple[tuple[str, bool], ...]
    now: int

    def matches(self, key: DecodedBatch, value: DecodedBatch) -> NDArray[np.bool_]:
        """Of which records it is true."""
        from frazil.exact import flags_of
        from frazil.expressions.arrow import Rows

        halves = {name: (key if of_key else value).data for name, of_key in self.columns}
        columns = {name: data.flatten()[data.type.get_field_index(name)] for name, data in halves.items()}
        return flags_of(Rows(columns, len(value.ok), self.now).flags(self.condition.root))
