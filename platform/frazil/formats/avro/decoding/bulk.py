"""Reads Avro's records many at once: by pyruhvro, proven by writing each batch again.

pyruhvro is lenient: it takes trailing bytes, ints of 33 bits and texts that are not UTF-8. But what it writes
of a batch has one encoding, so a payload that comes out as it went in was read to its last byte. One that
does not is damaged or written in an unusual way; `canonical` tells which.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyruhvro

from frazil.exact import value_of, values_of
from frazil.formats.avro.decoding.canonical import BadPayloadError, canonical
from frazil.formats.avro.decoding.shapes import UnreadableShapeError, leaves_per_byte, shape_text

_ZEROS = bytes(512)
"""With these behind it, a payload that was cut off can be read, and is then seen to differ: as many as the
longest one has bytes, for so much may have been cut off."""

_STOPS = (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError)


class BulkReader:
    """Reads records of one writer; see `arrow.Reader`."""

    def __init__(self, tree: dict[str, Any]) -> None:
        self._tree, self._shape = tree, shape_text(tree)
        self.places_per_byte = leaves_per_byte(tree)
        if self._batch([]) is None:
            raise UnreadableShapeError("pyruhvro refuses the schema")

    def read(self, payloads: pa.BinaryArray) -> tuple[np.ndarray, pa.StructArray]:
        """See `arrow.Reader.read`."""
        places, batch = self._read(payloads)
        return places, pa.StructArray.from_arrays(batch.columns, names=batch.schema.names)

    def _read(self, payloads: pa.BinaryArray) -> tuple[np.ndarray, pa.RecordBatch]:
        """The payloads that are records, to their last byte."""
        places, contents = np.arange(len(payloads)), values_of(payloads)
        while True:
            batch = self._batch(contents)
            if batch is None:
                longest = _ZEROS[: value_of(pc.max(pc.binary_length(payloads)))]
                batch = self._batch([payload + longest for payload in contents])
            wrong = (
                dict.fromkeys(self._sought(contents, 0))
                if batch is None
                else self._differing(batch, payloads)
            )
            mended = {n: usual for n, again in wrong.items() if (usual := self._mended(contents[n], again))}
            stays = np.ones(len(contents), bool)
            stays[[n for n in wrong if n not in mended]] = False
            kept = np.flatnonzero(stays)
            if batch is not None and not mended:
                return places[kept], batch.take(pa.array(kept)) if wrong else batch
            contents = [mended.get(n) or contents[n] for n in kept.tolist()]
            places, payloads = places[kept], pa.array(contents, pa.binary())

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
        changed = pc.indices_nonzero(pc.not_equal(again, payloads))
        return dict(zip(values_of(changed), values_of(again.take(changed)), strict=True))

    def _mended(self, payload: bytes, again: bytes | None) -> bytes | None:
        """The same record in its usual encoding; None where there is none, or pyruhvro can't read that."""
        if again and again.startswith(payload):
            return None  # cut off: who reads from left to right finds no record within the bytes of another
        try:
            usual = canonical(self._tree, payload)
        except BadPayloadError:
            return None
        return None if usual == payload else usual
