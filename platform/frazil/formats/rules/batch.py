"""Conditions of contracts by columns, in Spark's workers: a record that fails one is bad."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from frazil.exact import flags_of
from frazil.expressions.tree import Expression
from frazil.formats.protocol import ArrowDecoder, DecodedBatch

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]


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
            rows = writers == place
            for condition in own if rows.any() else ():
                failing = np.zeros(len(rows), bool)
                failing[rows] = ~_passing(condition.expression, decoded.data, rows)
                yield condition, failing


def _passing(asked: Expression, data: pa.StructArray, rows: Flags) -> Flags:
    """Which of the rows it is true of; where it is null, CEL has an error."""
    import pyarrow as pa

    from frazil.expressions.arrow import Rows

    names = {path[0] for path in asked.columns}
    chosen = None if rows.all() else pa.array(rows)
    columns = {
        own.name: column if chosen is None else column.filter(chosen)
        for own, column in zip(data.type, data.flatten(), strict=True)
        if own.name in names
    }
    return flags_of(Rows(columns, int(rows.sum()), 0).flags(asked.root).fill_null(False))
