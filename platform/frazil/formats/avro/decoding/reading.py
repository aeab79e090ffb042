"""Values of Avro, read one record after the other: strict, and no more of them than memory is meant for.

A record is a list of the fields that take bytes, a union the number of its branch and the value, a floating
number its bytes: nothing is lost, and nothing is asked of columns yet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from frazil.formats.avro.decoding.canonical import BadPayloadError, PayloadReader
from frazil.formats.avro.decoding.shapes import fields_with_bytes, is_optional, leaves
from frazil.formats.protocol import MOST_PLACES


class TooWideError(BadPayloadError):
    """Bytes that would take far more values in memory than they are."""


class RecordReader(PayloadReader):
    """Reads one payload, and counts the places that its items take in columns."""

    def __init__(self, payload: bytes) -> None:
        super().__init__(payload)
        self._room = MOST_PLACES + len(payload)

    def take_places(self, count: int) -> None:
        """Raises where an item takes more of them than are left."""
        self._room -= count
        if self._room < 0:
            raise TooWideError(
                f"its {len(self._payload):,} bytes would take more than {MOST_PLACES:,} values in memory"
            )


Read = Callable[[RecordReader], Any]
"""Reads one value where a reader is."""


def record_read(read: Read, payload: bytes) -> Any:
    """The record that a payload is, to its last byte; raises BadPayloadError for any other payload."""
    reader = RecordReader(payload)
    value = read(reader)
    reader.end()
    return value


def value_reader(node: Any) -> Read:
    """What reads values of a type."""
    if isinstance(node, list):
        return _optional(node) if is_optional(node) else _union(node)
    match node["type"]:
        case "record":
            return _record([value_reader(field["type"]) for field in fields_with_bytes(node)])
        case "array":
            return _array(value_reader(node["items"]), leaves(node["items"]))
        case "map":
            return _map(value_reader(node["values"]), 1 + leaves(node["values"]))
        case _:
            return _plain(node)


def _optional(branches: list[Any]) -> Read:
    read = [value_reader(branch) for branch in branches]
    return lambda reader: read[reader.number(0, 1)](reader)


def _union(branches: list[Any]) -> Read:
    read, last = [value_reader(branch) for branch in branches], len(branches) - 1

    def chosen(reader: RecordReader) -> tuple[int, Any]:
        number = reader.number(0, last)
        return number, read[number](reader)

    return chosen


def _record(fields: list[Read]) -> Read:
    return lambda reader: [read(reader) for read in fields]


def _array(item: Read, places: int) -> Read:
    def items(reader: RecordReader) -> list[Any]:
        members = []
        for _ in reader.items():
            reader.take_places(places)
            members.append(item(reader))
        return members

    return items


def _map(value: Read, places: int) -> Read:
    def entry(reader: RecordReader) -> tuple[bytes, Any]:
        return reader.sized(), value(reader)

    return _array(entry, places)


def _plain(node: dict[str, Any]) -> Read:
    match node["type"]:
        case "null":
            return lambda _: None
        case "boolean":
            return lambda reader: reader.boolean()
        case "int":
            return lambda reader: reader.number(-(2**31), 2**31 - 1)
        case "long":
            return lambda reader: reader.number(-(2**63), 2**63 - 1)
        case "enum":
            last = len(node["symbols"]) - 1
            return lambda reader: reader.number(0, last)
        case "string" | "bytes":
            return lambda reader: reader.sized()
        case kind:
            size = {"float": 4, "double": 8}.get(kind) or node["size"]
            return lambda reader: reader.take(size)
