"""The messages of a file as Glue's serializers number them, and as Confluent's do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from frazil.formats.avro.decoding.canonical import varint
from frazil.formats.protobuf.descriptors import compiled, file_of
from frazil.formats.protocol import WriterSchema

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor


def glue_messages(writer: WriterSchema, subject: str) -> tuple[bytes, ...]:
    """Confluent's indexes of each message of a schema, as they stand in records, in the order of Glue's.

    Glue counts all messages, those within others and the entries of maps too, by their full names in order:
    AWS' `MessageIndexFinder`. Confluent names the way from the file to the message, as zigzag varints behind
    their count.
    """
    file = file_of(compiled(writer, subject))
    top = file.message_types_by_name.values()
    ways = {name: way for number, message in enumerate(top) for name, way in _ways(message, (number,))}
    return tuple(b"".join(map(varint, (len(ways[name]), *ways[name]))) for name in sorted(ways))


def _ways(message: Descriptor, way: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield message.full_name, way
    for number, inner in enumerate(message.nested_types):
        yield from _ways(inner, (*way, number))
