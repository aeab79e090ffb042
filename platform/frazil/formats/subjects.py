"""Subjects as a spec wants them: registered where missing, never changed in silence."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.schema_registry import Schema

from frazil.errors import ConfigureError, DifferentError, MissingError, SchemaRefusedError, SpecError
from frazil.formats.differences import differences
from frazil.formats.protobuf.descriptors import compiled
from frazil.formats.registry import (
    RegistryClient,
    WriterSchema,
    registry_errors,
    subject_versions,
    writer_schema,
)
from frazil.spec.topic import SCHEMA_KINDS, SchemaKind

__all__ = ["WantedSchema", "newest_version", "read_schema", "register", "version_like"]


@dataclass(frozen=True, slots=True)
class WantedSchema:
    """A schema that a subject shall have.

    Args:
        kind: Its format, by the registry's name.
        text: The schema itself.
        source: Where it comes from, for errors: a file.
    """

    kind: SchemaKind
    text: str
    source: str = "the generator"


def read_schema(file: Path) -> WantedSchema:
    """The schema of a file, whose suffix says its format.

    Raises:
        SpecError: It can't be read, or is no schema of that format.
    """
    kind = SCHEMA_KINDS[file.suffix]
    try:
        text = file.read_text(encoding="utf-8")
        _CHECKS[kind](text)
    except (OSError, ValueError) as e:
        told = f"{file}: this is no {_SPOKEN[kind]} schema: {e}"
        raise SpecError(told, todo="Mend the file.") from None
    return WantedSchema(kind, text, str(file))


def newest_version(client: RegistryClient, subject: str) -> WriterSchema | None:
    """The newest version of a subject, none where there is no such subject."""
    try:
        return subject_versions(client, subject)[-1]
    except MissingError:
        return None


def version_like(client: RegistryClient, subject: str, wanted: WantedSchema) -> WriterSchema | None:
    """The newest version of a subject that equals a schema, none where there is no such subject.

    Raises:
        DifferentError: The subject is there, and none of its versions is this schema.
    """
    try:
        versions = subject_versions(client, subject)
    except MissingError:
        return None
    for version in reversed(versions):
        if not _against(version, wanted):
            return version
    newest = versions[-1]
    raise DifferentError(
        f"Subject {subject} holds another schema than the spec.",
        where="; ".join([wanted.source, f"version {newest.version}", *_against(newest, wanted)[:5]]),
        meaning="Nothing was changed; records are read with the schema that they were written with.",
        todo="Make the file the registry's schema, or register the new version yourself.",
    )


def register(client: RegistryClient, subject: str, wanted: WantedSchema) -> WriterSchema:
    """Registers a schema; the version that is there, where it is there already.

    Raises:
        ConfigureError: The registry refuses it.
    """
    schema = Schema(wanted.text, wanted.kind)
    try:
        with registry_errors(client, subject):
            client.register_schema(subject, schema)
            return writer_schema(client.lookup_schema(subject, schema))
    except ConfigureError as e:
        raise ConfigureError(
            e.what,
            where=f"{wanted.source}; {e.where}",
            meaning="The schema was not registered.",
            todo="Mend the file.",
        ) from None


def _against(version: WriterSchema, wanted: WantedSchema) -> list[str]:
    if version.kind != wanted.kind:
        return [f"it is of type {version.kind}, {wanted.kind} wanted"]
    return differences(version, wanted.text)


def _check_avro(text: str) -> None:
    import fastavro

    try:
        fastavro.parse_schema(json.loads(text))
    except fastavro.schema.UnknownType as e:
        raise ValueError(f"there is no type {e}") from None
    except KeyError as e:
        raise ValueError(f"{e} is missing") from None
    except (fastavro.schema.SchemaParseException, TypeError) as e:
        raise ValueError(str(e)) from None


def _check_json(text: str) -> None:
    import jsonschema_rs

    jsonschema_rs.meta.validate(json.loads(text))


def _check_protobuf(text: str) -> None:
    try:
        compiled(WriterSchema(0, 0, text, "PROTOBUF"), "none")
    except SchemaRefusedError as e:
        raise ValueError(e.where.partition(": ")[2]) from None


_CHECKS: dict[SchemaKind, Callable[[str], None]] = {
    "AVRO": _check_avro,
    "JSON": _check_json,
    "PROTOBUF": _check_protobuf,
}
_SPOKEN: dict[SchemaKind, str] = {"AVRO": "Avro", "JSON": "JSON", "PROTOBUF": "Protobuf"}
