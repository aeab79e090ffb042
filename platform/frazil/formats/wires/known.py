"""What names the schemas of a topic, by what the registry tells of them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence

from frazil.formats.kinds import SCHEMA_FORMATS
from frazil.formats.protobuf.indexes import glue_messages
from frazil.formats.protocol import HalfSchemas, WriterSchema
from frazil.formats.wires.glue import GlueWire
from frazil.formats.wires.naming import AZURE, GLOBAL, GUID, LONG, NOTHING, SINGLE_OBJECT, Naming


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
