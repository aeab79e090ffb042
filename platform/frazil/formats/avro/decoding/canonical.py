"""Avro's bytes as its usual writers write them: a record has many encodings, and of these one.

A number may have leading zeros, and an array come in many blocks, with or without their sizes. Strict in all
else: what is cut off, too long or outside its type raises, and so do lengths beyond `limits`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from frazil.formats.avro.limits import MOST_BYTES, MOST_ITEMS

_VARINT = 10
"""Most bytes of a number."""


class BadPayloadError(ValueError):
    """Bytes that are no record of a schema."""


def canonical(tree: Any, payload: bytes) -> bytes:
    """The one encoding of a payload's record, by the tree of its schema; raises BadPayloadError."""
    walk = PayloadWalk(payload)
    walk.value(tree)
    walk.end()
    return bytes(walk.out)


def varint(number: int) -> bytes:
    """A whole number of at most 64 bits, as Avro writes it."""
    left, encoded = (number << 1) ^ (number >> 63), bytearray()
    while left > 127:
        encoded.append(left & 127 | 128)
        left >>= 7
    return bytes([*encoded, left])


class PayloadReader:
    """Reads one payload from its beginning: where it is, and the values that stand there."""

    def __init__(self, payload: bytes) -> None:
        self.at = 0
        self._payload = payload

    def number(self, low: int, high: int) -> int:
        """A whole number within bounds."""
        number = self._varint()
        if not low <= number <= high:
            raise BadPayloadError(f"{number} is not within {low} and {high}")
        return number

    def boolean(self) -> bool:
        """A byte that is 0 or 1."""
        byte = self.take(1)[0]
        if byte > 1:
            raise BadPayloadError(f"byte {byte} is no boolean")
        return byte == 1

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        start, self.at = self.at, self.at + size
        if self.at > len(self._payload):
            raise BadPayloadError("the payload ends early")
        return self._payload[start : self.at]

    def sized(self) -> bytes:
        """Bytes behind their number."""
        return self.take(self.number(0, MOST_BYTES))

    def items(self) -> Iterator[int]:
        """Their place, of each item of an array or a map."""
        items = 0
        while block := self._count(MOST_ITEMS - items):
            yield from range(items, items + block)
            items += block

    def end(self) -> None:
        """Raises where bytes are left."""
        if self.at != len(self._payload):
            raise BadPayloadError(f"{len(self._payload) - self.at} bytes follow the payload")

    def _count(self, most: int) -> int:
        """How many items the next block has; a negative count is followed by the block's size."""
        number = self._varint()
        if number < 0:
            self._varint()
        if abs(number) > most:
            raise BadPayloadError(f"{abs(number)} items are claimed")
        return abs(number)

    def _varint(self) -> int:
        number = 0
        for place, byte in enumerate(self._payload[self.at : self.at + _VARINT]):
            number |= (byte & 127) << (7 * place)
            if byte < 128:
                self.at += place + 1
                return (number >> 1) ^ -(number & 1)
        raise BadPayloadError("a number does not end")


class PayloadWalk(PayloadReader):
    """One walk over one payload: where it is, and what was written."""

    def __init__(self, payload: bytes) -> None:
        super().__init__(payload)
        self.out = bytearray()

    def value(self, node: Any) -> None:
        """Reads one value, and writes it."""
        if isinstance(node, list):
            chosen = self.number(0, len(node) - 1)
            self.out += varint(chosen)
            return self.value(node[chosen])
        match node["type"]:
            case "record":
                for field in node["fields"]:
                    self.value(field["type"])
            case "array":
                self._blocks([node["items"]])
            case "map":
                self._blocks([{"type": "string"}, node["values"]])
            case _:
                self.out += self._scalar(node)
        return None

    def _scalar(self, node: dict[str, Any]) -> bytes:
        match node["type"]:
            case "null":
                return b""
            case "boolean":
                return bytes([self.boolean()])
            case "int":
                return varint(self.number(-(2**31), 2**31 - 1))
            case "long":
                return varint(self.number(-(2**63), 2**63 - 1))
            case "enum":
                return varint(self.number(0, len(node["symbols"]) - 1))
            case "string" | "bytes":
                content = self.sized()
                return varint(len(content)) + content
            case kind:
                return self.take({"float": 4, "double": 8}.get(kind) or node["size"])

    def _blocks(self, item: list[Any]) -> None:
        before, self.out = self.out, bytearray()
        count = 0
        for place in self.items():
            count = place + 1
            for part in item:
                self.value(part)
        before += (varint(count) + self.out if count else b"") + b"\0"
        self.out = before
