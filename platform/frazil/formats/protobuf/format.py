"""Protobuf among the formats: its columns, and what gives its records their shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from frazil.errors import SchemaRefusedError
from frazil.formats.encryption.leaves import Leaf
from frazil.formats.logical import Struct
from frazil.formats.paths import member_path
from frazil.formats.protobuf.descriptors import compiled, file_of
from frazil.formats.protobuf.generations import columns_of, message_names
from frazil.formats.protobuf.schema import is_entry, oneofs, record_message, regular_fields
from frazil.formats.protobuf.well_known import tags_of
from frazil.formats.protocol import Decoder, HalfSchemas, WriterSchema

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

Parts = Iterator[tuple[str, Any]]

_FILE = frozenset({"name", "options"})
"""What a file says of itself: its name, and options for generators of code."""

_OTHERS = ("google.", "confluent.")
"""Packages of messages in which nobody encrypts a field."""


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
        leaves = _leaves(record_message(schema, schemas.subject, schemas.record_type))
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


def _leaves(message: Descriptor, at: str = "", outer: frozenset[str] = frozenset()) -> Iterator[Leaf]:
    """The leaves of a message; of one within itself there are none, for it has no columns."""
    if message.full_name in outer or message.full_name.startswith(_OTHERS):
        return
    outer |= {message.full_name}
    for field in regular_fields(message):
        yield from _field(field, f"{at}{field.name}", outer)
    for oneof in oneofs(message):
        for field in oneof.fields:
            yield from _field(field, f"{at}{oneof.name}.{field.name}", outer)


def _field(field: FieldDescriptor, path: str, outer: frozenset[str]) -> Iterator[Leaf]:
    leaf = Leaf(path, field.full_name, tags_of(field))
    if is_entry(field):
        value = field.message_type.fields[1]
        yield from _single(value, leaf.within("value"), outer)
    else:
        yield from _single(field, leaf.within("element") if field.is_repeated else leaf, outer)


def _single(field: FieldDescriptor, leaf: Leaf, outer: frozenset[str]) -> Iterator[Leaf]:
    if field.message_type is None:
        yield leaf
    else:
        yield from _leaves(field.message_type, f"{leaf.path}.", outer)
