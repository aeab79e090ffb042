"""What a Protobuf field is, asked alike by the mapping to columns and by both decoders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.formats.logical import Decimal, Primitive, Type

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor, OneofDescriptor

__all__ = [
    "DECIMAL",
    "KNOWN",
    "UNSIGNED_LONG",
    "WRAPPERS",
    "decimal_of",
    "is_entry",
    "oneofs",
    "regular_fields",
    "scalar_type",
]

_SCALARS = (
    "double", "float", "long", "long", "int", "long", "long", "boolean", "string",
    "", "", "binary", "long", "string", "int", "long", "int", "long",
)  # fmt: skip
"""By `FieldDescriptor.type` - 1: double, float, int64, uint64, int32, fixed64, fixed32, bool, string,
group, message, bytes, uint32, enum, sfixed32, sfixed64, sint32, sint64."""

UNSIGNED_LONG = frozenset({4, 6})
"""`FieldDescriptor.type` of uint64 and fixed64: the upper half of their values fits in no column."""

WRAPPERS = frozenset(
    f"google.protobuf.{name}Value"
    for name in ("Bool", "Int32", "UInt32", "Int64", "UInt64", "Float", "Double", "String", "Bytes")
)
"""Messages of one field, `value`: an optional primitive."""

KNOWN: dict[str, Type] = {
    "google.protobuf.Timestamp": Primitive("timestamptz"),
    "google.protobuf.Duration": Primitive("long"),
    "google.type.Date": Primitive("date"),
    "google.type.TimeOfDay": Primitive("long"),
}
"""Messages that are one value. Spark holds microseconds: further digits are cut, nothing else."""

DECIMAL = "confluent.type.Decimal"
"""One value, too; its precision and scale stand beside the field."""


def scalar_type(field: FieldDescriptor) -> Primitive:
    """The type of a field without a message."""
    return Primitive(_SCALARS[field.type - 1])  # type: ignore[arg-type]


def oneofs(message: Descriptor) -> list[OneofDescriptor]:
    """Those that the schema's author wrote; proto3's `optional` makes some of its own."""
    return [o for o in message.oneofs if not _synthetic(o)]


def regular_fields(message: Descriptor) -> list[FieldDescriptor]:
    """The fields outside of such a oneof."""
    return [f for f in message.fields if not f.containing_oneof or _synthetic(f.containing_oneof)]


def is_entry(field: FieldDescriptor) -> bool:
    """Whether a repeated field is a map: one by declaration, or messages `...Entry` of key and value."""
    message = field.message_type
    if message is None or not field.is_repeated:
        return False
    if message.GetOptions().map_entry:
        return True
    if not message.name.endswith("Entry") or [f.name for f in message.fields] != ["key", "value"]:
        return False
    key, value = message.fields
    return not (key.has_presence or key.is_repeated or value.is_repeated)


def decimal_of(field: FieldDescriptor) -> Decimal | None:
    """Precision and scale of a `confluent.type.Decimal`, from `(confluent.field_meta).params`."""
    try:
        options = field.file.pool.FindMessageTypeByName("google.protobuf.FieldOptions")
        meta = field.file.pool.FindExtensionByName("confluent.field_meta")
    except KeyError:
        return None
    from google.protobuf.message_factory import GetMessageClass

    # The options' own class knows no extension of this pool: it keeps the bytes.
    found = GetMessageClass(options).FromString(field.GetOptions().SerializeToString())
    params = found.Extensions[meta].params
    try:
        return Decimal(int(params["precision"]), int(params["scale"] or 0))
    except ValueError:
        return None


def _synthetic(oneof: OneofDescriptor) -> bool:
    from google.protobuf.descriptor_pb2 import DescriptorProto

    proto = DescriptorProto()
    oneof.containing_type.CopyToProto(proto)
    return any(f.proto3_optional for f in proto.field if f.name == oneof.fields[0].name)
