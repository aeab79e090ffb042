"""Which decoder reads a topic's keys and values: by the spec, else by what the registry holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from frazil.errors import ConfigureError, MissingError
from frazil.formats.columns import RecordColumns, record_columns
from frazil.formats.logical import Struct
from frazil.formats.plain import PlainDecoder, plain_columns
from frazil.formats.protocol import KEY, VALUE, Decoder, Half
from frazil.formats.record import RecordDecoder
from frazil.formats.registry import RegistryClient, WriterSchema, subject_versions
from frazil.spec.names import record_subject, subject_name
from frazil.spec.topic import TableSpec

__all__ = [
    "HalfSchemas",
    "columns_of",
    "decoder_for",
    "half_columns",
    "half_schemas",
    "other_ids",
    "topic_columns",
]


@dataclass(frozen=True, slots=True)
class HalfSchemas:
    """How one half of a topic's records is written.

    Args:
        half: Key or value.
        format: `avro, json, protobuf`, or `bytes, string, none`.
        subject: Of the registry; named in errors even where there is none.
        writers: The subject's schemas, oldest first; the last one is the reader. None without a schema.
    """

    half: Half
    format: Literal["avro", "json", "protobuf", "bytes", "string", "none"]
    subject: str
    writers: tuple[WriterSchema, ...] = field(default=())


def half_schemas(spec: TableSpec, half: Half, registry: RegistryClient) -> HalfSchemas:
    """How a half is written: as the spec says, else as the registry does.

    A key without a subject is bytes. A value without one is an error: bytes by mistake could never
    become columns again.

    Raises:
        MissingError: There is no subject for the value.
        ConfigureError: The subject is of another format than the spec says.
    """
    wanted = spec.key_format if half == KEY else spec.value_format
    subject = subject_name(spec, half.word)
    if wanted == "bytes" or wanted == "string" or wanted == "none":
        return HalfSchemas(half, wanted, subject)
    try:
        writers = subject_versions(registry, subject)
    except MissingError:
        if half == KEY and wanted == "auto":
            return HalfSchemas(half, "bytes", subject)
        raise
    found = writers[-1].kind.lower()
    if wanted not in ("auto", found):
        raise ConfigureError(
            f"Subject {subject} is of format {found}, the spec says {wanted}.",
            where=f"version {writers[-1].version}",
            meaning="Nothing was landed.",
            todo=f"Write {half.word}_format: {found} in defs.yaml, or leave it out.",
        )
    if half == VALUE and spec.record_type and spec.subject_names == "topic" and found != "protobuf":
        raise ConfigureError(
            f"record_type: {spec.record_type} picks a message of a Protobuf schema, and this one is {found}.",
            where=f"subject {subject}",
            meaning="Nothing was landed.",
            todo="Drop record_type; or say by subject_names that each record has a subject of its own.",
        )
    return HalfSchemas(half, found, subject, writers)  # type: ignore[arg-type]


def other_ids(spec: TableSpec, registry: RegistryClient) -> tuple[int, ...]:
    """Schema ids of the records on the topic that belong to other tables.

    Raises:
        MissingError: One of them has no subject.
    """
    subjects = [record_subject(spec, record_type) for record_type in spec.other_types]
    return tuple(w.schema_id for s in subjects for w in subject_versions(registry, s))


def topic_columns(spec: TableSpec, registry: RegistryClient) -> RecordColumns:
    """What the newest schemas of a topic ask of its table.

    Raises:
        SchemaRefusedError: No column can hold them.
    """
    key, value = (half_schemas(spec, half, registry) for half in (KEY, VALUE))
    return record_columns(spec, half_columns(spec, key), half_columns(spec, value))


def half_columns(spec: TableSpec, schemas: HalfSchemas) -> Struct:
    """The columns that one half becomes by its newest schema.

    Raises:
        SchemaRefusedError: No column can hold them.
    """
    match schemas.format:
        case "bytes" | "string" | "none" as plain:
            return plain_columns(plain, schemas.half)
        case _:
            return columns_of(schemas.writers, schemas.subject, schemas.half, spec.record_type)


def columns_of(
    writers: Sequence[WriterSchema], subject: str, half: Half, record_type: str | None = None
) -> Struct:
    """The columns that schemas become.

    Args:
        writers: The schemas, oldest first; the last one says the format.
        subject: Named in errors.
        half: Key or value.
        record_type: Full name of the record, where a schema declares several.

    Raises:
        SchemaRefusedError: No column can hold them.
    """
    newest = writers[-1]
    match newest.kind:
        case "AVRO":
            from frazil.formats.avro.schema import avro_to_logical

            return avro_to_logical(newest.text, subject, newest.dependencies, half.word)
        case "JSON":
            from frazil.formats.json.writers import json_columns

            return json_columns(_of_kind(writers, "JSON"), subject, half.word)
        case "PROTOBUF":
            from frazil.formats.protobuf import schema as protobuf

            message = record_type if half == VALUE else None
            return protobuf.columns_of(_of_kind(writers, "PROTOBUF"), subject, message)
        case other:
            raise _unknown(other.lower(), subject)


def decoder_for(spec: TableSpec, registry: RegistryClient) -> RecordDecoder:
    """The decoder for a topic's records.

    Raises:
        SchemaRefusedError: The newest schema can't be decoded into columns.
    """
    key, value = (half_schemas(spec, half, registry) for half in (KEY, VALUE))
    one, two = _decoder(spec, key), _decoder(spec, value)
    columns = record_columns(spec, one.columns, two.columns)
    return RecordDecoder(one, two, columns, spec.on_null_value, other_ids(spec, registry))


def _decoder(spec: TableSpec, schemas: HalfSchemas) -> Decoder:
    match schemas.format:
        case "avro":
            from frazil.formats.avro.aliases import with_aliases
            from frazil.formats.avro.decoder import AvroDecoder

            writers = with_aliases(_of_kind(schemas.writers, "AVRO"), spec.migrations)
            return AvroDecoder(writers, schemas.subject, schemas.half, spec.framing)
        case "json":
            from frazil.formats.json.decoder import JsonDecoder

            strict, framed = spec.validation == "strict", spec.framing == "confluent"
            writers = _of_kind(schemas.writers, "JSON")
            return JsonDecoder(writers, schemas.subject, schemas.half, strict, framed)
        case "protobuf":
            from frazil.formats.protobuf.decoder import ProtobufDecoder

            protos = _of_kind(schemas.writers, "PROTOBUF")
            message = spec.record_type if schemas.half == VALUE else None
            return ProtobufDecoder(protos, schemas.subject, spec.framing, message)
        case "bytes" | "string" | "none" as plain:
            return PlainDecoder(plain, schemas.half)
        case other:
            raise _unknown(other, schemas.subject)


def _of_kind(writers: Sequence[WriterSchema], kind: str) -> list[WriterSchema]:
    return [w for w in writers if w.kind == kind]


def _unknown(found: str, subject: str) -> ConfigureError:
    return ConfigureError(
        f"Format {found} is unknown.", where=f"subject {subject}", todo="Use Avro, JSON Schema or Protobuf."
    )
