"""Which records become rows, by a filter over what they hold before it is masked; in Spark's workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.formats.protocol import DecodedBatch

if TYPE_CHECKING:
    import numpy as np
    import pyarrow.compute as pc
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ArrowWhere:
    """A filter over the columns of both halves; a record of which it is not true is left out, as in SQL.

    Args:
        condition: Over the columns' names; true, false or null.
        columns: The columns that it names, and whether the key has each, or else the value.
    """

    condition: pc.Expression
    columns: tuple[tuple[str, bool], ...]

    def matches(self, key: DecodedBatch, value: DecodedBatch) -> NDArray[np.bool_]:
        """Of which records it is true."""
        import numpy as np
        import pyarrow as pa

        count = len(value.ok)
        held = {name: (key if of_key else value).data for name, of_key in self.columns}
        found = {name: data.flatten()[data.type.get_field_index(name)] for name, data in held.items()}
        numbered = pa.table({**found, "": pa.array(np.arange(count))})
        matching = np.zeros(count, bool)
        matching[numbered.filter(self.condition)[""].to_numpy()] = True
        return matching
