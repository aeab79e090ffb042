"""A batch whose records were written by several versions of a schema: each version's records at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.formats.protocol import DecodedBatch
from frazil.formats.wires.prefix import HEADER, by_schema_id, in_place


class Version(Protocol):
    """Decodes payloads of one writer."""

    def decode(self, payloads: pa.BinaryArray) -> tuple[np.ndarray, pa.StructArray, np.ndarray]:
        """The places of payloads that could be read, their rows, and which of these are good."""


def decode_by_version(
    raw: pa.BinaryArray, versions: Mapping[int, Version], kind: pa.DataType, framed: bool
) -> DecodedBatch:
    """One row per record, of a type that all versions' rows have.

    `versions` are by schema id, in the order of the decoder's writers. Records without a header are all of
    the first one.
    """
    ok, writers = np.zeros(len(raw), bool), np.full(len(raw), -1, np.int32)
    numbers = {schema_id: number for number, schema_id in enumerate(versions)}
    parts = []
    for schema_id, places in by_schema_id(raw) if framed else _unframed(raw, versions):
        if schema_id in versions:
            read, rows, good = versions[schema_id].decode(_payloads(raw, places, framed))
            parts.append((places[read], rows))
            ok[places[read]], writers[places] = good, numbers[schema_id]
    return DecodedBatch(_whole(parts, len(raw), kind), pa.array(ok), pa.array(writers, mask=writers < 0))


def _unframed(raw: pa.BinaryArray, versions: Mapping[int, Version]) -> Iterable[tuple[int, np.ndarray]]:
    return [(next(iter(versions)), np.flatnonzero(raw.is_valid().to_numpy(zero_copy_only=False)))]


def _payloads(raw: pa.BinaryArray, places: np.ndarray, framed: bool) -> pa.BinaryArray:
    own = raw if len(places) == len(raw) else raw.take(pa.array(places))
    # Without a stop pyarrow 26 fails: "Negative buffer resize".
    return pc.binary_slice(own, HEADER, 2**31 - 1) if framed else own


def _whole(parts: list[tuple[np.ndarray, pa.StructArray]], count: int, kind: pa.DataType) -> pa.StructArray:
    if len(parts) == 1 and len(parts[0][1]) == count:
        return parts[0][1]
    return in_place(parts, count, pa.nulls(1, kind))
