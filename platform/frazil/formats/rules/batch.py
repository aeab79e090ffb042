"""Conditions of contracts by columns, in Spark's workers: a record that fails one is bad."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from frazil.exact import flags_of
from frazil.expressions.tree import Expression
from frazil.formats.protocol import ArrowDecoder, DecodedBatch

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from frazil.expressions.arrow import Rows

    Flags = NDArray[np.bool_]

RULE = "rule:"
"""Begins the code of a reason: a record fails a rule of its schema; the rule's name follows."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A rule for readers.

    Args:
        words: What it says of records, for people.
        expression: True of those that pass.
    """

    name: str
    words: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class JudgingColumns:
    """A decoder behind which records are bad that fail a rule of the schema that they were written with.

    Args:
        inner: What decodes them.
        conditions: By the place of a version among the decoder's writers.
    """

    inner: ArrowDecoder
    conditions: Mapping[int, tuple[Condition, ...]]

    @property
    def places_per_byte(self) -> float:
        """See `ArrowDecoder.places_per_byte`."""
        return self.inner.places_per_byte

    def decode(self, raw: pa.BinaryArray) -> DecodedBatch:
        """See `ArrowDecoder.decode`."""
        import pyarrow as pa

        decoded = self.inner.decode(raw)
        ok = flags_of(decoded.ok).copy()
        for _, failing in self.failing(decoded):
            ok &= ~failing
        return replace(decoded, ok=pa.array(ok))

    def failing(self, decoded: DecodedBatch) -> Iterator[tuple[Condition, Flags]]:
        """Each rule with the records that fail it."""
        import numpy as np

        ok = flags_of(decoded.ok)
        writers = np.where(ok, decoded.writer.fill_null(-1).to_numpy(zero_copy_only=False), -1)
        for place, own in self.conditions.items():
            chosen = writers == place
            if not chosen.any():
                continue
            rows = _rows(own, decoded.data, chosen)
            for condition in own:
                failing = np.zeros(len(chosen), bool)
                # Where it is null, CEL has an error.
                failing[chosen] = ~flags_of(rows.flags(condition.expression.root).fill_null(False))
                yield condition, failing


def _rows(asked: Iterable[Condition], data: pa.StructArray, flags: Flags) -> Rows:
    """The columns of which conditions speak, of some rows."""
    import pyarrow as pa

    from frazil.expressions.arrow import Rows

    names = {path[0] for each in asked for path in each.expression.columns}
    chosen = None if flags.all() else pa.array(flags)
    columns = {
        own.name: column if chosen is None else column.filter(chosen)
        for own, column in zip(data.type, data.flatten(), strict=True)
        if own.name in names
    }
    return Rows(columns, int(flags.sum()), 0)
