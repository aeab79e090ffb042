"""Decodes JSON of listed fields by columns: as a record of these fields alone, whose parts then go up."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from frazil.formats.json.arrow import JsonRecipe
from frazil.formats.logical import Struct
from frazil.formats.protocol import DecodedBatch
from frazil.formats.types import arrow_type


@dataclass(frozen=True, slots=True)
class FieldsRecipe:
    """All that a worker needs; see `ArrowDecoder`. `paths` has the names that lead to each column."""

    record: JsonRecipe
    columns: Struct
    paths: tuple[tuple[str, ...], ...]

    @property
    def places_per_byte(self) -> float:
        """See `ArrowDecoder.places_per_byte`."""
        return self.record.places_per_byte

    def decode(self, raw: pa.BinaryArray) -> DecodedBatch:
        """See `ArrowDecoder.decode`; a part of what is null is null."""
        whole = self.record.decode(raw)
        columns = [pc.struct_field(whole.data, list(path)) for path in self.paths]
        data = pa.StructArray.from_arrays(columns, fields=list(arrow_type(self.columns)))
        return DecodedBatch(data, whole.ok, pa.nulls(len(raw), pa.int32()))
