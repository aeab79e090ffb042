"""How many values a message takes in memory, counted on its bytes before anything is decoded.

An empty message within another takes two bytes on the wire, and in columns a place for each of its fields:
100 KB of messages with 200 fields took 178 MB. A record that takes far more places than it has bytes is bad.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from frazil.exact import value_of
from frazil.formats.protobuf import well_known
from frazil.formats.protocol import MOST_PLACES, Reason

if TYPE_CHECKING:
    import pyarrow as pa
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

_LEAST = 2
"""Bytes of a message within another: its tag and its length."""


class Width:
    """Counts the places of messages of one type."""

    def __init__(self, message: Descriptor) -> None:
        self._message = message
        self._own: dict[str, int] = {}

    @cached_property
    def most(self) -> float:
        """Places that a byte may take: those of the widest message that may be there many times."""
        counts = [self._places(m) for m in self._repeated(self._message, set())]
        return max(1.0, max(counts, default=0) / _LEAST)

    def too_wide(self, payloads: pa.Array) -> dict[int, Reason]:
        """Which payloads take too many places, and why they are bad; most need no count."""
        import numpy as np
        import pyarrow.compute as pc

        sizes = pc.binary_length(payloads).to_numpy().astype(np.int64)
        doubtful = np.flatnonzero(sizes * self.most > MOST_PLACES + sizes).tolist()
        faults = ((place, self.fault(value_of(payloads[place]))) for place in doubtful)
        return {place: fault for place, fault in faults if fault}

    def fault(self, payload: bytes) -> Reason | None:
        """Why a payload is bad that takes too many places; None where it does not."""
        places = self.count(payload)
        if places <= MOST_PLACES + len(payload):
            return None
        return "too_wide", (
            f"its {len(payload):,} bytes would take {places:,} values in memory; "
            f"{MOST_PLACES:,} more than bytes are allowed"
        )

    def count(self, payload: bytes) -> int:
        """The places of all messages within a payload; of a damaged one those before the damage."""
        return self._count(self._message, payload, 0, len(payload))

    def _count(self, message: Descriptor, raw: bytes, at: int, end: int) -> int:
        places, fields = 0, message.fields_by_number
        try:
            while at < end:
                tag, at = _varint(raw, at)
                kind = tag & 7
                if kind == 2:
                    size, at = _varint(raw, at)
                    field = fields.get(tag >> 3)
                    if field is not None and field.message_type is not None:
                        places += self._within(field, raw, at, min(at + size, end))
                    at += size
                elif kind in (1, 5):
                    at += 8 if kind == 1 else 4
                elif kind == 0:
                    _, at = _varint(raw, at)
        except IndexError:
            pass
        return places

    def _within(self, field: FieldDescriptor, raw: bytes, at: int, end: int) -> int:
        inner = field.message_type
        own = self._places(inner) if field.is_repeated else 0
        return own + (0 if _is_leaf(inner) else self._count(inner, raw, at, end))

    def _places(self, message: Descriptor) -> int:
        """Those that one message takes by itself, whatever is in it."""
        if message.full_name not in self._own:
            self._own[message.full_name] = 1
            inner = (f.message_type for f in message.fields if f.message_type and not f.is_repeated)
            plain = sum(f.message_type is None or f.is_repeated for f in message.fields)
            self._own[message.full_name] = plain + sum(
                1 if _is_leaf(each) else self._places(each) for each in inner
            )
        return self._own[message.full_name]

    def _repeated(self, message: Descriptor, seen: set[str]) -> Iterator[Descriptor]:
        """The messages that may stand many times below one; a single field may be sent many times, too."""
        if message.full_name in seen or _is_leaf(message):
            return
        seen.add(message.full_name)
        for field in message.fields:
            if field.message_type is not None:
                if field.is_repeated:
                    yield field.message_type
                yield from self._repeated(field.message_type, seen)


def _is_leaf(message: Descriptor) -> bool:
    name = message.full_name
    return name in well_known.KNOWN or name in well_known.WRAPPERS or name == well_known.DECIMAL


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = raw[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
        shift += 7
