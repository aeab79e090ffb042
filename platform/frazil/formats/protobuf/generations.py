"""Whether a newer message reads the bytes of an older one, as Protobuf's own rules have it.

For versions that can't be a table by themselves, as of a message without fields: their records are read by
the newest schema, where no value could be taken for another.
"""

from __future__ import annotations

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor


def reads(newer: Descriptor, older: Descriptor, within: frozenset[str] = frozenset()) -> bool:
    """Whether each field of the older message is the same one in the newer, or is not there at all."""
    same: bool = newer.full_name == older.full_name
    if not same or older.full_name in within:
        return same
    return all(_keeps(newer, field, within | {older.full_name}) for field in older.fields)


def _keeps(newer: Descriptor, field: FieldDescriptor, within: frozenset[str]) -> bool:
    now = newer.fields_by_number.get(field.number)
    if now is None:
        return field.name not in newer.fields_by_name
    alike = (now.name, now.type, now.is_repeated) == (field.name, field.type, field.is_repeated)
    if not alike or _oneof(now) != _oneof(field):
        return False
    if field.enum_type is not None:
        return _same_symbols(now.enum_type, field.enum_type)
    return field.message_type is None or reads(now.message_type, field.message_type, within)


def _oneof(field: FieldDescriptor) -> str:
    return field.containing_oneof.name if field.containing_oneof else ""


def _same_symbols(newer: EnumDescriptor, older: EnumDescriptor) -> bool:
    known = {value.number: value.name for value in newer.values}
    return all(known.get(value.number, value.name) == value.name for value in older.values)
