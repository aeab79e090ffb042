"""What names the schemas of a topic, by what the registry tells of them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from frazil.formats.avro.decoding.canonical import varint
from frazil.formats.kinds import SCHEMA_FORMATS
from frazil.formats.protobuf.descriptors import compiled, file_of
from frazil.formats.protocol import HalfSchemas, WriterSchema
from frazil.formats.wires.glue import GlueWire
from frazil.formats.wires.naming import AZURE, GLOBAL, GUID, LONG, NOTHING, SINGLE_OBJECT, Naming

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor


def naming_of(schemas: HalfSchemas, others: Sequence[WriterSchema] = ()) -> Naming:
    """What may name the schemas of one half of a topic's records.

    Args:
        others: Schemas of records that belong to other tables.
    """
    if not schemas.writers or not schemas.framed:
        return NOTHING
    ids = {name: each.schema_id for each in (*others, *schemas.writers) for name in _names(each)}
    is_protobuf = schemas.writers[-1].kind == "PROTOBUF"
    strange = frozenset(each.schema_id for each in others) - {each.schema_id for each in schemas.writers}
    return Naming(schemas.half.word, schemas.subject, ids, is_protobuf, _of_glue(schemas), strange)


def _of_glue(schemas: HalfSchemas) -> GlueWire | None:
    """Glue's wire, where the versions are of its registry."""
    ids = {uuid.UUID(w.glue_id).bytes: w.schema_id for w in schemas.writers if w.glue_id}
    if not ids:
        return None
    files = {w.schema_id: w for w in schemas.writers if w.kind == "PROTOBUF"}
    messages = {number: glue_messages(writer, schemas.subject) for number, writer in files.items()}
    return GlueWire(schemas.subject, ids, messages)


def _names(writer: WriterSchema) -> Iterator[bytes]:
    if writer.guid:
        yield GUID + uuid.UUID(writer.guid).bytes
    if writer.azure_id:
        yield AZURE + writer.azure_id.replace("-", "").lower().encode()
    for number in writer.global_ids:
        yield GLOBAL + number.to_bytes(8, "big")
    if writer.kind != "PROTOBUF":  # Apicurio's own is another one than Confluent's
        for number in writer.long_ids:
            if number < 2**32:
                yield LONG + number.to_bytes(4, "big")
    if mark := SCHEMA_FORMATS[writer.kind].fingerprint(writer):
        yield SINGLE_OBJECT + mark


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
