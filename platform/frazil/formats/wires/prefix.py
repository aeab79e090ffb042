"""Confluent's wire format before a payload: a zero and the schema id; for Protobuf message indexes, too."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.exact import value_of, values_of
from frazil.formats.protocol import Reason

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

HEADER = 5
"""Bytes of the zero and the schema id."""

FIRST = (0,)
"""Indexes of a file's first message."""

_SHORT = 6  # bytes of Protobuf's commonest header: zero, schema id, and a zero for the first message
_MOST = 32  # messages within messages that a header may name


class WireError(ValueError):
    """Bytes in another format, with the reason for machines and for people."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.reason: Reason = code, text


@dataclass(frozen=True, slots=True)
class WireFormat:
    """Where the payload of Avro or JSON begins; without a header all records are of the newest schema."""

    framed: bool
    newest: int

    def parts(self, raw: bytes) -> tuple[int, bytes]:
        """Schema id and payload; raises WireError where there is no header."""
        return (schema_id_of(raw), raw[HEADER:]) if self.framed else (self.newest, raw)


def header_bytes(schema_id: int) -> bytes:
    """The header that stands before a schema's records."""
    return b"\0" + schema_id.to_bytes(4, "big")


def schema_id_of(raw: bytes) -> int:
    """The schema id in a header; raises WireError where there is none."""
    if len(raw) < HEADER:
        raise WireError("too_short", f"{len(raw)} bytes are too short for the wire format")
    if raw[0]:
        raise WireError("magic_byte", f"the first byte is {raw[0]}, not 0")
    return int.from_bytes(raw[1:HEADER], "big")


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a Protobuf record, and where the payload begins."""

    schema_id: int
    indexes: tuple[int, ...]
    end: int


def header_of(raw: bytes) -> Header:
    """The header of a Protobuf record; raises WireError where there is none.

    Indexes are zigzag varints, their count first; a single zero byte means `[0]`.
    """
    if len(raw) == HEADER:
        raise WireError("too_short", f"{len(raw)} bytes are too short for the wire format")
    schema_id = schema_id_of(raw)
    count, at = _zigzag(raw, HEADER)
    if not 0 <= count <= _MOST:
        raise WireError("message_indexes", f"{count} message indexes are claimed")
    indexes = []
    for _ in range(count):
        index, at = _zigzag(raw, at)
        indexes.append(index)
    return Header(schema_id, tuple(indexes) or FIRST, at)


def by_header(raw: pa.Array, known: Container[int]) -> Iterator[tuple[Header, np.ndarray]]:
    """Places of records by header, one header after the other.

    Records without one are left out, and those of schemas that are not known: other formats' headers look
    like long ones. Short headers are told apart in bulk, others one by one (400,000 records a second).
    """
    import numpy as np

    others: dict[Header, list[int]] = {}
    for head, places in _by_head(raw, _SHORT):
        if head[:1] != b"\0" or int.from_bytes(head[1:HEADER], "big") not in known:
            continue
        if len(head) == _SHORT and head[0] == head[-1] == 0:
            yield Header(int.from_bytes(head[1:HEADER], "big"), FIRST, _SHORT), places
        else:
            _sort_in(others, raw, places)
    for header, rows in others.items():
        yield header, np.asarray(rows)


def by_schema_id(raw: pa.Array) -> Iterator[tuple[int, np.ndarray]]:
    """Places of records by the schema id in their headers; records without one are left out."""
    for head, places in _by_head(raw, HEADER):
        try:
            yield schema_id_of(head), places
        except WireError:
            continue


def in_place(parts: Sequence[tuple[np.ndarray, pa.Array]], rows: int, filler: pa.Array) -> pa.Array:
    """Parts whose rows stand at given places, as one array; of two at one place the later one.

    The other places, up to `rows`, get the filler.
    """
    import numpy as np
    import pyarrow as pa

    count = sum(len(places) for places, _ in parts)
    order = np.full(rows, count)
    if parts:
        order[np.concatenate([places for places, _ in parts])] = np.arange(count)
    return pa.concat_arrays([*(part for _, part in parts), filler]).take(pa.array(order))


def _by_head(raw: pa.Array, size: int) -> Iterator[tuple[bytes, np.ndarray]]:
    """Places of records by their first `size` bytes."""
    import numpy as np
    import pyarrow.compute as pc

    heads = pc.binary_slice(raw, 0, size).dictionary_encode()
    numbers = heads.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    order = np.argsort(numbers, kind="stable")
    ends = np.searchsorted(numbers[order], np.arange(len(heads.dictionary) + 1))
    for number, head in enumerate(values_of(heads.dictionary)):
        yield head, order[ends[number] : ends[number + 1]]


def _sort_in(places_by: dict[Header, list[int]], raw: pa.Array, places: np.ndarray) -> None:
    for place in places.tolist():
        try:
            places_by.setdefault(header_of(value_of(raw[place])), []).append(place)
        except WireError:
            continue


def _zigzag(raw: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while at < len(raw) and shift < 35:
        byte = raw[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return (number >> 1) ^ -(number & 1), at
        shift += 7
    raise WireError("message_indexes", "the message indexes end early")
