"""Decodes Avro by columns, in Spark's workers.

pyruhvro reads the records of most schemas, many at once; of others one after the other is read. Neither knows
a reader's schema: records are read as they were written, and made columns by `projection`.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from frazil.formats.avro.decoding.bulk import BulkReader
from frazil.formats.avro.decoding.defaults import default_payload
from frazil.formats.avro.decoding.payloads import texts_of
from frazil.formats.avro.decoding.projection import Projection
from frazil.formats.avro.decoding.rowwise import RowReader
from frazil.formats.avro.decoding.shapes import UnreadableShapeError
from frazil.formats.avro.schemas.versions import Pair
from frazil.formats.batches.by_version import decode_by_version
from frazil.formats.batches.rows import Rows
from frazil.formats.logical import Field, Struct, Type
from frazil.formats.protocol import DecodedBatch
from frazil.formats.types import arrow_type


class Reader(Protocol):
    """Reads payloads of one writer."""

    @property
    def places_per_byte(self) -> float:
        """See `ArrowDecoder.places_per_byte`."""

    def read(self, payloads: pa.BinaryArray) -> tuple[np.ndarray, pa.StructArray]:
        """The places of payloads that are records, to their last byte, and these, in `shapes`."""


@dataclass(frozen=True, slots=True)
class AvroRecipe:
    """All that a worker needs; see `ArrowDecoder`.

    `pairs` are the trees of writer and reader as JSON, by schema id, in the order of the decoder's writers.
    """

    pairs: tuple[tuple[int, str, str], ...]
    columns: Struct
    framed: bool

    @property
    def places_per_byte(self) -> float:
        """See `ArrowDecoder.places_per_byte`."""
        return batches_of(self).places_per_byte

    def decode(self, raw: pa.BinaryArray) -> DecodedBatch:
        """See `ArrowDecoder.decode`."""
        return batches_of(self).decode(raw)


def recipe_of(pairs: dict[int, Pair], columns: Struct, framed: bool) -> AvroRecipe:
    """What decodes records of these pairs by columns."""
    texts = ((i, json.dumps(writer), json.dumps(reader)) for i, (writer, reader) in pairs.items())
    return AvroRecipe(tuple(texts), columns, framed)


class AvroBatches:
    """Decodes batches, the records of each writer at once."""

    def __init__(self, recipe: AvroRecipe) -> None:
        self._framed = recipe.framed
        self._type = arrow_type(recipe.columns)
        trees = {schema_id: json.loads(writer) for schema_id, writer, _ in recipe.pairs}
        self._texts = texts_of(trees, recipe.framed)
        self._versions = {
            schema_id: AvroVersion(trees[schema_id], json.loads(reader), recipe.columns)
            for schema_id, _, reader in recipe.pairs
        }
        self.places_per_byte = max(version.places_per_byte for version in self._versions.values())

    def decode(self, raw: pa.BinaryArray) -> DecodedBatch:
        """See `ArrowDecoder.decode`."""
        raw = self._texts.written(raw) if self._texts else raw
        return decode_by_version(raw, self._versions, self._type, self._framed)


@lru_cache(maxsize=64)
def batches_of(recipe: AvroRecipe) -> AvroBatches:
    """The decoder of a recipe: one per process, for building it costs more than a small batch."""
    return AvroBatches(recipe)


class AvroVersion:
    """Decodes the records of one writer."""

    def __init__(self, writer: Any, reader: Any, columns: Struct) -> None:
        self._writer, self._reader, self._columns = writer, reader, columns
        self._records = reader_of(writer)
        self._projection = Projection(_Defaults().array)
        self.places_per_byte = self._records.places_per_byte

    def decode(self, payloads: pa.BinaryArray) -> tuple[np.ndarray, pa.StructArray, np.ndarray]:
        """The places of payloads that could be read, their rows, and which of these are good."""
        places, records = self._records.read(payloads)
        rows = Rows(np.zeros(len(records), bool))
        decoded = self._projection.column(self._writer, self._reader, self._columns, records, rows)
        return places, decoded, ~rows.bad


def reader_of(tree: dict[str, Any]) -> Reader:
    """What reads records of a writer, as fast as its types allow."""
    try:
        return BulkReader(tree)
    except UnreadableShapeError:
        return RowReader(tree)


class _Defaults:
    """Defaults of fields, as columns have them; each is made once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Type], pa.Array | None] = {}

    def array(self, field: dict[str, Any], wanted: Type) -> pa.Array | None:
        """See `projection.Default`."""
        key = json.dumps([field["type"], field["default"]]), wanted
        if key not in self._known:
            self._known[key] = self._made(field, wanted)
        return self._known[key]

    def _made(self, field: dict[str, Any], wanted: Type) -> pa.Array | None:
        tree = {"type": "record", "fields": [{"name": field["name"], "type": field["type"]}]}
        try:
            payload = default_payload(field["type"], field["default"])
        except (ValueError, KeyError, struct.error, OverflowError):
            return None
        columns = Struct((Field(field["name"], wanted, optional=True),))
        _, rows, good = AvroVersion(tree, tree, columns).decode(pa.array([payload], pa.binary()))
        return rows.field(0) if good.tolist() == [True] else None
