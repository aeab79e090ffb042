"""Encrypted fields opened by columns, in Spark's workers: what no key opens makes a bad record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from frazil.exact import flags_of, values_of
from frazil.formats.encryption.keys import RuleKeys, SealedError, opened_value
from frazil.formats.masks.columns import mask_paths
from frazil.formats.protocol import ArrowDecoder, DecodedBatch

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    Rows = NDArray[np.int64]

Fields = Mapping[str, tuple[RuleKeys, ...]]
"""What opens values, by their paths."""


@dataclass(frozen=True, slots=True)
class OpeningColumns:
    """A decoder behind which encrypted fields are open.

    Args:
        inner: What decodes the records as they are.
        fields: Those that are encrypted, by the place of a version among the decoder's writers.
    """

    inner: ArrowDecoder
    fields: Mapping[int, Fields]

    @property
    def places_per_byte(self) -> float:
        """See `ArrowDecoder.places_per_byte`."""
        return self.inner.places_per_byte

    def decode(self, raw: pa.BinaryArray) -> DecodedBatch:
        """See `ArrowDecoder.decode`."""
        import numpy as np
        import pyarrow as pa

        decoded = self.inner.decode(raw)
        ok = flags_of(decoded.ok)
        writers = np.where(ok, decoded.writer.fill_null(-1).to_numpy(zero_copy_only=False), -1)
        if not set(np.unique(writers).tolist()) & self.fields.keys():
            return decoded
        opening = _Opening(self.fields, writers)
        data = opening.struct(decoded.data, np.arange(len(ok)), "")
        return replace(decoded, data=data, ok=pa.array(ok & ~opening.failed))


class _Opening:
    """One walk over one batch."""

    def __init__(self, fields: Mapping[int, Fields], writers: Rows) -> None:
        import numpy as np

        self._fields, self._writers = fields, writers
        self._paths = {path for each in fields.values() for path in each}
        self.failed = np.zeros(len(writers), bool)

    def struct(self, values: pa.StructArray, rows: Rows, at: str) -> pa.StructArray:
        """A struct's values; `rows` has the record of each."""
        import pyarrow as pa

        columns = [
            self._column(column, rows, f"{at}{own.name}")
            for own, column in zip(values.type, values.flatten(), strict=True)
        ]
        nulls = values.is_null() if values.null_count else None
        return pa.StructArray.from_arrays(columns, fields=list(values.type), mask=nulls)

    def _column(self, column: Any, rows: Rows, path: str) -> pa.Array:
        if path in self._paths:
            return self._opened(column, rows, path)
        return self._within(column, rows, path) if mask_paths(self._paths, path) else column

    def _within(self, column: Any, rows: Rows, path: str) -> pa.Array:
        import pyarrow as pa

        if pa.types.is_struct(column.type):
            return self.struct(column, rows, f"{path}.")
        whole = pa.concat_arrays([column, column.slice(0, 0)]) if column.offset else column
        nulls = whole.is_null() if whole.null_count else None
        if pa.types.is_map(column.type):
            own = _rows_within(whole, len(whole.items), rows)
            items = self._column(whole.items, own, f"{path}.value")
            return pa.MapArray.from_arrays(whole.offsets, whole.keys, items, mask=nulls)
        own = _rows_within(whole, len(whole.values), rows)
        values = self._column(whole.values, own, f"{path}.element")
        return pa.ListArray.from_arrays(whole.offsets, values, mask=nulls)

    def _opened(self, column: pa.Array, rows: Rows, path: str) -> pa.Array:
        import pyarrow as pa

        opened = []
        for value, row in zip(values_of(column), rows.tolist(), strict=True):
            rules = self._fields.get(int(self._writers[row]), {}).get(path, ()) if row >= 0 else ()
            opened.append(self._one(value, rules, row) if rules and value is not None else value)
        return pa.array(opened, column.type)

    def _one(self, value: str | bytes, rules: tuple[RuleKeys, ...], row: int) -> str | bytes | None:
        try:
            return opened_value(value, rules)
        except SealedError:
            self.failed[row] = True
            return None


def _rows_within(column: Any, size: int, rows: Rows) -> Rows:
    """The record of each value within lists or maps; -1 of those that stand in none."""
    import numpy as np

    offsets = column.offsets.to_numpy()
    own = np.full(size, -1)
    own[offsets[0] : offsets[-1]] = np.repeat(rows, np.diff(offsets))
    return own
