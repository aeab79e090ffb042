"""Confluent's wire format before a Protobuf payload: a zero, the schema id, and message indexes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

__all__ = ["FIRST", "Header", "WireError", "by_header", "header_of"]

FIRST = (0,)
"""Indexes of a file's first message."""

_ID_END = 5
_SHORT = 6
"""Bytes of the commonest header: zero, schema id, and a zero for the first message."""
_MOST = 32
"""Messages within messages that a header may name."""


class WireError(ValueError):
    """Bytes that are no such format.

    Args:
        code: The reason for machines.
        text: The reason for people.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True, slots=True)
class Header:
    """What stands before a payload, and where that begins."""

    schema_id: int
    indexes: tuple[int, ...]
    end: int


def header_of(raw: bytes) -> Header:
    """The header of a record.

    Indexes are zigzag varints, their count first; a single zero byte means `[0]`.

    Raises:
        WireError: It has none.
    """
    if len(raw) <= _ID_END:
        raise WireError("too_short", f"{len(raw)} bytes are too short for the wire format")
    if raw[0]:
        raise WireError("magic_byte", f"the first byte is {raw[0]}, not 0")
    count, at = _zigzag(raw, _ID_END)
    if not 0 <= count <= _MOST:
        raise WireError("message_indexes", f"{count} message indexes are claimed")
    indexes = []
    for _ in range(count):
        index, at = _zigzag(raw, at)
        indexes.append(index)
    return Header(int.from_bytes(raw[1:_ID_END], "big"), tuple(indexes) or FIRST, at)


def by_header(raw: pa.Array) -> Iterator[tuple[Header, np.ndarray]]:
    """Records of one header after those of another, by their places; without those that have none.

    Short headers are told apart in bulk, others one by one (400,000 records a second).
    """
    import numpy as np
    import pyarrow.compute as pc

    heads = pc.binary_slice(raw, 0, _SHORT).dictionary_encode()
    numbers = heads.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    order = np.argsort(numbers, kind="stable")
    ends = np.searchsorted(numbers[order], np.arange(len(heads.dictionary) + 1))
    others: dict[Header, list[int]] = {}
    for number, head in enumerate(heads.dictionary.to_pylist()):
        places = order[ends[number] : ends[number + 1]]
        if len(head) == _SHORT and head[0] == head[-1] == 0:
            yield Header(int.from_bytes(head[1:_ID_END], "big"), FIRST, _SHORT), places
        else:
            _sort_in(others, raw, places)
    for header, found in others.items():
        yield header, np.asarray(found)


def _sort_in(found: dict[Header, list[int]], raw: pa.Array, places: np.ndarray) -> None:
    for place in places.tolist():
        try:
            found.setdefault(header_of(raw[place].as_py()), []).append(place)
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
