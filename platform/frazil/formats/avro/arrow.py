"""Decodes Avro by columns, in Spark's workers: by pyruhvro, proven by writing each batch again.

pyruhvro is lenient: it takes trailing bytes, ints of 33 bits and texts that are not UTF-8. But what it writes
of a batch has one encoding, so a payload that comes out as it went in was read to its last byte. One that
does not is damaged or written in an unusual way; `canonical` tells which. pyruhvro knows no reader's
schema: records are read as they were written, and made columns by `projection`.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyruhvro

from frazil.exact import value_of, values_of
from frazil.formats.avro.canonical import BadPayloadError, canonical
from frazil.formats.avro.defaults import default_payload
from frazil.formats.avro.payloads import texts_of
from frazil.formats.avro.projection import Projection
from frazil.formats.avro.shapes import MOST_LEAVES, UnreadableShapeError, shape_text
from frazil.formats.avro.versions import Pair
from frazil.formats.by_version import decode_by_version
from frazil.formats.logical import Field, Struct, Type
from frazil.formats.protocol import DecodedBatch
from frazil.formats.rows import Rows
from frazil.formats.types import arrow_type

_ZEROS = bytes(512)
"""With these behind it, a payload that was cut off can be read, and is then seen to differ: as many as the
longest one has bytes, for so much may have been cut off."""

_STOPS = (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError)


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
        """See `ArrowDecoder.places_per_byte`: an item that is null takes one byte."""
        return float(MOST_LEAVES)

    def decode(self, raw: pa.BinaryArray) -> DecodedBatch:
        """See `ArrowDecoder.decode`."""
        return batches_of(self).decode(raw)


def recipe_of(pairs: dict[int, Pair], columns: Struct, framed: bool) -> AvroRecipe | None:
    """What decodes records of these pairs by columns; None where only Spark reads a type of theirs."""
    texts = ((i, json.dumps(writer), json.dumps(reader)) for i, (writer, reader) in pairs.items())
    recipe = AvroRecipe(tuple(texts), columns, framed)
    try:
        batches_of(recipe)
    except UnreadableShapeError:
        return None
    return recipe


class AvroBatches:
    """Decodes batches, the records of each writer at once."""

    def __init__(self, recipe: AvroRecipe) -> None:
        self._framed = recipe.framed
        self._type = arrow_type(recipe.columns)
        self._texts = texts_of({i: json.loads(writer) for i, writer, _ in recipe.pairs}, recipe.framed)
        self._versions = {
            schema_id: AvroVersion(json.loads(writer), json.loads(reader), recipe.columns)
            for schema_id, writer, reader in recipe.pairs
        }

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
        self._shape = shape_text(writer)
        self._projection = Projection(_Defaults().array)
        if self._batch([]) is None:
            raise UnreadableShapeError("pyruhvro refuses the schema")
        try:
            _, rows, _ = self.decode(pa.array([], pa.binary()))
        except pa.ArrowException as e:
            raise UnreadableShapeError(str(e)) from None
        if rows.type != arrow_type(columns):
            raise UnreadableShapeError(f"{rows.type} is not {columns}")

    def decode(self, payloads: pa.BinaryArray) -> tuple[np.ndarray, pa.StructArray, np.ndarray]:
        """The places of payloads that could be read, their rows, and which of these are good."""
        places, batch = self._read(payloads)
        array = pa.StructArray.from_arrays(batch.columns, names=batch.schema.names)
        rows = Rows(np.zeros(len(array), bool))
        found = self._projection.column(self._writer, self._reader, self._columns, array, rows)
        return places, found, ~rows.bad

    def _read(self, payloads: pa.BinaryArray) -> tuple[np.ndarray, pa.RecordBatch]:
        """The payloads that are records, to their last byte."""
        places, held = np.arange(len(payloads)), values_of(payloads)
        while True:
            batch = self._batch(held)
            if batch is None:
                longest = _ZEROS[: value_of(pc.max(pc.binary_length(payloads)))]
                batch = self._batch([payload + longest for payload in held])
            wrong = (
                dict.fromkeys(self._sought(held, 0)) if batch is None else self._differing(batch, payloads)
            )
            mended = {n: usual for n, again in wrong.items() if (usual := self._mended(held[n], again))}
            stays = np.ones(len(held), bool)
            stays[[n for n in wrong if n not in mended]] = False
            kept = np.flatnonzero(stays)
            if batch is not None and not mended:
                return places[kept], batch.take(pa.array(kept)) if wrong else batch
            held = [mended.get(n) or held[n] for n in kept.tolist()]
            places, payloads = places[kept], pa.array(held, pa.binary())

    def _batch(self, payloads: list[bytes]) -> pa.RecordBatch | None:
        """The records, unproven; None where pyruhvro refuses one."""
        try:
            return pyruhvro.deserialize_array(payloads, self._shape)
        except BaseException as e:
            # A panic in Rust is no Exception, and has no class that could be named.
            if isinstance(e, _STOPS):
                raise
            return None

    def _sought(self, payloads: list[bytes], start: int) -> Iterator[int]:
        """Places of payloads that are refused, of some among which there is one."""
        if len(payloads) == 1:
            yield start
            return
        middle = len(payloads) // 2
        first, second = payloads[:middle], payloads[middle:]
        bad = self._batch(first) is None
        if bad:
            yield from self._sought(first, start)
        if not bad or self._batch(second) is None:
            yield from self._sought(second, start + middle)

    def _differing(self, batch: pa.RecordBatch, payloads: pa.BinaryArray) -> dict[int, bytes | None]:
        """Places of payloads that are not what pyruhvro writes of their records, with that."""
        again = pyruhvro.serialize_record_batch(batch, self._shape, 1)[0]
        if again.equals(payloads):
            return {}
        found = pc.indices_nonzero(pc.not_equal(again, payloads))
        return dict(zip(values_of(found), values_of(again.take(found)), strict=True))

    def _mended(self, payload: bytes, again: bytes | None) -> bytes | None:
        """The same record in its usual encoding; None where there is none, or pyruhvro can't read that."""
        if again and again.startswith(payload):
            return None  # cut off: who reads from left to right finds no record within the bytes of another
        try:
            usual = canonical(self._writer, payload)
        except BadPayloadError:
            return None
        return None if usual == payload else usual


class _Defaults:
    """Defaults of fields, as columns have them; each is made once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Type], pa.Array] = {}

    def array(self, field: dict[str, Any], wanted: Type) -> pa.Array:
        """See `projection.Default`."""
        key = json.dumps([field["type"], field["default"]]), wanted
        if key not in self._known:
            self._known[key] = self._made(field, wanted)
        return self._known[key]

    def _made(self, field: dict[str, Any], wanted: Type) -> pa.Array:
        tree = {"type": "record", "fields": [{"name": field["name"], "type": field["type"]}]}
        try:
            payload = default_payload(field["type"], field["default"])
        except (ValueError, KeyError, struct.error, OverflowError) as e:
            raise UnreadableShapeError(f"the default of {field['name']}: {e}") from None
        columns = Struct((Field(field["name"], wanted, optional=True),))
        _, rows, good = AvroVersion(tree, tree, columns).decode(pa.array([payload], pa.binary()))
        if not good.tolist() == [True]:
            raise UnreadableShapeError(f"the default of {field['name']} does not fit its column")
        return rows.field(0)
