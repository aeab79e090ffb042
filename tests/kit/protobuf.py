"""Protobuf classes made at run time from .proto text, as a producer would have them generated."""

from __future__ import annotations

from functools import cache
from typing import Any

from google.protobuf.message_factory import GetMessageClass

from frazil.formats.protobuf.descriptors import compiled, file_of
from frazil.formats.protocol import WriterSchema

__all__ = ["framed", "message_class", "proto"]


def proto(text: str, schema_id: int = 1, **dependencies: str) -> WriterSchema:
    """A schema as the registry would give it."""
    return WriterSchema(schema_id, 1, text, "PROTOBUF", (), tuple(dependencies.items()))


@cache
def message_class(text: str, name: str) -> Any:
    """The class of a message, by its full name."""
    return GetMessageClass(file_of(compiled(proto(text), "test")).pool.FindMessageTypeByName(name))


def framed(schema_id: int, payload: bytes, indexes: bytes = b"\0") -> bytes:
    """A payload in the wire format; indexes as they stand there."""
    return b"\0" + schema_id.to_bytes(4, "big") + indexes + payload
