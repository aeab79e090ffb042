"""The versions of a Protobuf subject: what their messages become, and by which names.

A version may be no table by itself, as of a message without fields. Its records are read by the newest
schema, by Protobuf's own rules, where no value could be taken for another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.errors import SchemaRefusedError
from frazil.formats.columns.renames import Names, Rename, by_todays_names, names_today
from frazil.formats.columns.unmappable import REFUSED, Unmappable
from frazil.formats.logical import Struct, misfit, relaxed, same_type
from frazil.formats.protobuf.schema import message_to_logical, record_message
from frazil.formats.protocol import HalfSchemas, WriterSchema

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor


@dataclass(frozen=True, slots=True)
class Generation:
    """The records of one version.

    Args:
        record: The full name of their message.
        then: What they become, by the names of the version.
        today: The same, by today's names.
    """

    record: str
    then: Struct
    today: Struct


def generations(
    writers: Sequence[WriterSchema],
    subject: str,
    record_type: str | None = None,
    unmappable: Unmappable = REFUSED,
    renames: Sequence[Rename] = (),
) -> dict[int, Generation]:
    """The versions that can be tables by themselves, by schema id, oldest first."""
    *older, newest = writers
    message = record_message(newest, subject, record_type)
    records = [_record(writer, subject, message.full_name, unmappable) for writer in older]
    records.append((message.full_name, message_to_logical(message, subject, unmappable)))
    today = by_todays_names([each and each[1] for each in records], renames)
    every = zip(writers, records, today, strict=True)
    return {w.schema_id: Generation(*record, now) for w, record, now in every if record and now}


def columns_of(
    writers: Sequence[WriterSchema],
    subject: str,
    record_type: str | None = None,
    unmappable: Unmappable = REFUSED,
    renames: Sequence[Rename] = (),
) -> Struct:
    """The columns of the newest schema, optional wherever an older one has no value for them.

    So a plain field that was added later, which Tableflow refuses, is an optional column here.
    """
    return shared_columns(generations(writers, subject, record_type, unmappable, renames))


def shared_columns(known: Mapping[int, Generation]) -> Struct:
    """The columns of versions that are known already; see `columns_of`."""
    *older, newest = known.values()
    columns = newest.today
    for each in older:
        alike = each.record == newest.record or same_type(each.today, columns)
        if alike and misfit(each.today, columns) is None:
            columns = relaxed(columns, each.today)
    return columns


def message_names(schemas: HalfSchemas) -> dict[int, Names]:
    """What the fields of each version are called today, by its schema id."""
    if not schemas.renames:
        return {}
    known = generations(schemas.writers, schemas.subject, schemas.record_type, schemas.unmappable)
    names = names_today([each.then for each in known.values()], schemas.renames)
    return dict(zip(known, names, strict=True))


def _record(
    writer: WriterSchema, subject: str, name: str, unmappable: Unmappable
) -> tuple[str, Struct] | None:
    try:
        message = record_message(writer, subject, name)
        return message.full_name, message_to_logical(message, subject, unmappable)
    except SchemaRefusedError:
        return None


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
