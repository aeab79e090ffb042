"""Confluent's wire format before a Protobuf payload: a zero, the schema id, and message indexes."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FIRST", "Header", "WireError", "header_of"]

FIRST = (0,)
"""Indexes of a file's first message."""

_ID_END = 5
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
