"""Protobuf among the formats: its columns, and what gives its records their shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from frazil.errors import SchemaRefusedError
from frazil.formats.encryption.leaves import Leaf
from frazil.formats.logical import Struct
from frazil.formats.paths import member_path
from frazil.formats.protobuf.descriptors import compiled, file_of
from frazil.formats.protobuf.generations import columns_of, message_names
from frazil.formats.protobuf.schema import record_message
from frazil.formats.protobuf.tagged import message_leaves
from frazil.formats.protocol import Decoder, HalfSchemas, WriterSchema

Parts = Iterator[tuple[str, Any]]

_FILE = frozenset({"name", "options"})
"""What a file says of itself: its name, and options for generators of code."""


class Protobuf:
    """See `SchemaFormat`."""

    title = "Protobuf"
    takes_record_type = True

    def columns(self, schemas: HalfSchemas) -> Struct:
        """See `Format.columns`."""
        spec = schemas.record_type, schemas.unmappable, schemas.renames
        return columns_of(schemas.writers, schemas.subject, *spec)

    def decoder(self, schemas: HalfSchemas) -> Decoder:
        """See `Format.decoder`."""
        from frazil.formats.protobuf.decoder import ProtobufDecoder  # 0.4 s of imports

        return ProtobufDecoder(schemas)

    def check(self, text: str) -> None:
        """See `SchemaFormat.check`."""
        try:
            compiled(WriterSchema(0, 0, text, "PROTOBUF"), "none")
        except SchemaRefusedError as e:
            raise ValueError(e.where.partition(": ")[2]) from None

    def shape(self, schema: WriterSchema) -> Parts:
        """See `SchemaFormat.shape`: of the compiled file, so comments and layout make no difference."""
        from google.protobuf.descriptor_pb2 import FileDescriptorProto
        from google.protobuf.json_format import MessageToDict

        file = FileDescriptorProto()
        file_of(compiled(schema, "of the pipeline")).CopyToProto(file)
        parts = MessageToDict(file, preserving_proto_field_name=True)
        return _descriptor({word: part for word, part in parts.items() if word not in _FILE}, "")

    def fingerprint(self, schema: WriterSchema) -> bytes:
        """See `SchemaFormat.fingerprint`."""
        return b""

    def leaves(self, schemas: HalfSchemas, schema: WriterSchema) -> Iterator[Leaf]:
        """See `SchemaFormat.leaves`."""
        leaves = message_leaves(record_message(schema, schemas.subject, schemas.record_type))
        names = message_names(schemas).get(schema.schema_id, {})
        return (leaf.today(names) for leaf in leaves)


def _descriptor(node: Any, path: str) -> Parts:
    match node:
        case dict():
            for word, part in node.items():
                yield from _descriptor(part, member_path(path, word))
        case [{}, *_]:
            for place, part in enumerate(node):
                at = f"{path}.{part.get('name', place)}"
                yield f"{at} (position)", place
                yield from _descriptor(part, at)
        case _:
            yield path, node
