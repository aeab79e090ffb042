"""Avro's bytes as its usual writers write them: a record has many encodings, and of these one.

A number may have leading zeros, and an array come in many blocks, with or without their sizes. Strict in all
else: what is cut off, too long or outside its type raises, and so do lengths beyond `limits`.
"""

from __future__ import annotations

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
    if walk.at != len(payload):
        raise BadPayloadError(f"{len(payload) - walk.at} bytes follow the payload")
    return bytes(walk.out)


def varint(number: int) -> bytes:
    """A whole number of at most 64 bits, as Avro writes it."""
    left, found = (number << 1) ^ (number >> 63), bytearray()
    while left > 127:
        found.append(left & 127 | 128)
        left >>= 7
    return bytes([*found, left])


class PayloadWalk:
    """One walk over one payload: where it is, and what was written."""

    def __init__(self, payload: bytes) -> None:
        self.at, self.out = 0, bytearray()
        self._payload = payload

    def value(self, node: Any) -> None:
        """Reads one value, and writes it."""
        if isinstance(node, list):
            return self.value(node[self._number(0, len(node) - 1)])
        match node["type"]:
            case "record":
                for field in node["fields"]:
                    self.value(field["type"])
            case "array":
                self._blocks([node["items"]])
            case "map":
                self._blocks([{"type": "string"}, node["values"]])
            case _:
                self._scalar(node)
        return None

    def _scalar(self, node: dict[str, Any]) -> None:
        match node["type"]:
            case "null":
                return
            case "boolean":
                self._boolean()
            case "int":
                self._number(-(2**31), 2**31 - 1)
            case "long":
                self._number(-(2**63), 2**63 - 1)
            case "enum":
                self._number(0, len(node["symbols"]) - 1)
            case "string" | "bytes":
                self._raw(self._number(0, MOST_BYTES))
            case kind:
                self._raw({"float": 4, "double": 8}.get(kind) or node["size"])

    def _blocks(self, item: list[Any]) -> None:
        before, self.out = self.out, bytearray()
        items = 0
        while found := self._count(MOST_ITEMS - items):
            items += found
            for _ in range(found):
                for part in item:
                    self.value(part)
        before += (varint(items) + self.out if items else b"") + b"\0"
        self.out = before

    def _count(self, most: int) -> int:
        """How many items the next block has; a negative count is followed by the block's size."""
        found = self._read()
        if found < 0:
            self._read()
        if abs(found) > most:
            raise BadPayloadError(f"{abs(found)} items are claimed")
        return abs(found)

    def _boolean(self) -> None:
        self._raw(1)
        if self.out[-1] > 1:
            raise BadPayloadError(f"byte {self.out[-1]} is no boolean")

    def _number(self, low: int, high: int) -> int:
        found = self._read()
        if not low <= found <= high:
            raise BadPayloadError(f"{found} is not within {low} and {high}")
        self.out += varint(found)
        return found

    def _read(self) -> int:
        number = 0
        for place, byte in enumerate(self._payload[self.at : self.at + _VARINT]):
            number |= (byte & 127) << (7 * place)
            if byte < 128:
                self.at += place + 1
                return (number >> 1) ^ -(number & 1)
        raise BadPayloadError("a number does not end")

    def _raw(self, size: int) -> None:
        if self.at + size > len(self._payload):
            raise BadPayloadError("the payload ends early")
        self.out += self._payload[self.at : self.at + size]
        self.at += size
