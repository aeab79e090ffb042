"""Protobuf by ptars, batch by batch; what it refuses or can't prove is left to google.protobuf.

ptars raises for a whole batch, without a place: such a batch is halved. And it takes some damaged
payloads that google.protobuf refuses, or reads them otherwise. So each row is written again and must
give the bytes that it came from: proof that nothing in them was passed over. Where producers write
otherwise than ptars does (repeated numbers one by one, as proto2 has it), google.protobuf reads them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.formats.logical import Struct
from frazil.formats.protobuf.ptars_descriptors import shapes_of
from frazil.formats.protobuf.shape_arrays import columns_array
from frazil.formats.protobuf.upb_messages import UpbMessages
from frazil.formats.protocol import Reason
from frazil.formats.spark import arrow_type

if TYPE_CHECKING:
    import pyarrow as pa
    from google.protobuf.descriptor import Descriptor

__all__ = ["PtarsMessages"]

_FEW, _SOME = 16, 1024
"""Rows that are read one by one sooner than halved again, and rows whose bad ones are looked for."""

Decoded = tuple["pa.StructArray", dict[int, Reason]]


class PtarsMessages:
    """Decodes payloads of one message type; see `Messages`.

    Args:
        message: The type; its file must not be of an edition, which ptars can't read.
        columns: Its columns.
    """

    def __init__(self, message: Descriptor, columns: Struct) -> None:
        from ptars import HandlerPool, PtarsConfig

        shapes = shapes_of(message.file)
        shape = shapes.pool.FindMessageTypeByName(f"frazil_shapes.{message.full_name}")
        self._handler = HandlerPool([shapes], PtarsConfig()).get_for_message(shape)
        self._message, self._type = message, arrow_type(columns)
        self._careful = UpbMessages(message, columns)

    def decode(self, payloads: pa.Array) -> Decoded:
        """See `Messages.decode`."""
        import pyarrow as pa

        parts: list[pa.StructArray] = [pa.array([], self._type)]
        reasons: dict[int, Reason] = {}
        ranges = [(0, len(payloads))]
        while ranges:
            start, end = ranges.pop()
            found = self._range(payloads.slice(start, end - start))
            if found is None:
                middle = (start + end) // 2
                ranges += [(middle, end), (start, middle)]
                continue
            parts.append(found[0])
            reasons |= {start + place: reason for place, reason in found[1].items()}
        return pa.concat_arrays(parts), reasons

    def _range(self, payloads: pa.Array) -> Decoded | None:
        try:
            return self._fast(payloads)
        except BaseException as e:
            # A panic in Rust is no Exception, and has no class that could be named.
            if isinstance(e, KeyboardInterrupt | SystemExit | GeneratorExit | MemoryError):
                raise
        if len(payloads) <= _FEW:
            return self._careful.decode(payloads)
        return self._sifted(payloads) if len(payloads) <= _SOME else None

    def _sifted(self, payloads: pa.Array) -> Decoded | None:
        """Without those that google.protobuf does not even parse; none where it parses all."""
        import numpy as np
        import pyarrow as pa

        refused = self._careful.refused(payloads)
        if not refused:
            return None
        kept = np.setdiff1d(np.arange(len(payloads)), list(refused))
        rows, reasons = self.decode(payloads.take(pa.array(kept)))
        order = np.full(len(payloads), len(kept))
        order[kept] = np.arange(len(kept))
        merged = pa.concat_arrays([rows, pa.nulls(1, rows.type)]).take(pa.array(order))
        return merged, refused | {int(kept[place]): reason for place, reason in reasons.items()}

    def _fast(self, payloads: pa.Array) -> Decoded:
        import pyarrow as pa
        import pyarrow.compute as pc

        batch = self._handler.array_to_record_batch(payloads)
        again = self._handler.record_batch_to_array(batch)
        unproven = pc.indices_nonzero(pc.not_equal(again, payloads))
        rows = columns_array(
            self._message, pa.StructArray.from_arrays(batch.columns, names=batch.schema.names)
        )
        return self._replaced(rows, payloads, unproven) if len(unproven) else (rows, {})

    def _replaced(self, rows: pa.StructArray, payloads: pa.Array, places: pa.Array) -> Decoded:
        import numpy as np
        import pyarrow as pa

        careful, reasons = self._careful.decode(payloads.take(places))
        order = np.arange(len(rows))
        order[places.to_numpy()] = len(rows) + np.arange(len(places))
        merged = pa.concat_arrays([rows, careful]).take(pa.array(order))
        numbers = places.to_pylist()
        return merged, {numbers[place]: reason for place, reason in reasons.items()}
