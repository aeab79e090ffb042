"""Decodes JSON of listed fields by columns: as a record of these fields alone, whose parts then go up."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from frazil.exact import flags_of, values_of
from frazil.formats.json.arrow import JsonRecipe
from frazil.formats.json.given.rest import rest_of
from frazil.formats.json.nodes import Members
from frazil.formats.logical import Struct
from frazil.formats.protocol import DecodedBatch
from frazil.formats.types import arrow_type


@dataclass(frozen=True, slots=True)
class FieldsRecipe:
    """All that a worker needs; see `ArrowDecoder`.

    Args:
        paths: The names that lead to each column.
        named: What has columns, where a last column holds the rest.
    """

    record: JsonRecipe
    columns: Struct
    paths: tuple[tuple[str, ...], ...]
    named: Members | None = None

    @property
    def places_per_byte(self) -> float:
        """See `ArrowDecoder.places_per_byte`."""
        return self.record.places_per_byte

    def decode(self, raw: pa.BinaryArray) -> DecodedBatch:
        """See `ArrowDecoder.decode`; a part of what is null is null."""
        whole = self.record.decode(raw)
        columns, ok = [pc.struct_field(whole.data, list(path)) for path in self.paths], whole.ok
        if self.named:
            rest, ok = _rest(raw, ok, self.named)
            columns.append(rest)
        data = pa.StructArray.from_arrays(columns, fields=list(arrow_type(self.columns)))
        return DecodedBatch(data, ok, pa.nulls(len(raw), pa.int32()))


def _rest(raw: pa.BinaryArray, ok: pa.BooleanArray, named: Members) -> tuple[pa.Array, pa.BooleanArray]:
    """The text of what is left of each good record, and which are good then, too."""
    good = flags_of(ok).copy()
    texts: list[str | None] = [None] * len(raw)
    for place, record in enumerate(values_of(raw)):
        if good[place]:
            try:
                texts[place] = rest_of(record, named)
            except (ValueError, RecursionError):
                good[place] = False
    return pa.array(texts, pa.string()), pa.array(good)
