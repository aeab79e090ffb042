"""What names the schemas of a topic, by what the registry tells of them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

from frazil.formats.kinds import SCHEMA_FORMATS
from frazil.formats.protocol import HalfSchemas, WriterSchema
from frazil.formats.wires.naming import GUID, NOTHING, SINGLE_OBJECT, Naming


def naming_of(schemas: HalfSchemas) -> Naming:
    """What may name the schemas of one half of a topic's records."""
    if not schemas.writers or not schemas.framed:
        return NOTHING
    ids = {name: writer.schema_id for writer in schemas.writers for name in _names(writer)}
    return Naming(schemas.half.word, schemas.subject, ids, schemas.writers[-1].kind == "PROTOBUF")


def _names(writer: WriterSchema) -> Iterator[bytes]:
    if writer.guid:
        yield GUID + uuid.UUID(writer.guid).bytes
    if mark := SCHEMA_FORMATS[writer.kind].fingerprint(writer):
        yield SINGLE_OBJECT + mark
