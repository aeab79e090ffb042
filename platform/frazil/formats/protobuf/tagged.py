"""The values of a message by the fields that they stand in, and the tags of these."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from frazil.formats.encryption.leaves import Leaf
from frazil.formats.protobuf.schema import is_entry, oneofs, regular_fields
from frazil.formats.protobuf.well_known import tags_of

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor


_OTHERS = ("google.", "confluent.")
"""Packages of messages in which nobody encrypts a field."""


def message_leaves(message: Descriptor, at: str = "", outer: frozenset[str] = frozenset()) -> Iterator[Leaf]:
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
        yield from message_leaves(field.message_type, f"{leaf.path}.", outer)
