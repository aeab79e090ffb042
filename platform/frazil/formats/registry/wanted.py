"""Schemas that subjects shall have, as files say: compared with the registry's, or registered there."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from frazil.errors import MALFORMED, ConfigureError, DifferentError, MissingError, SpecError
from frazil.formats.kinds import SCHEMA_FORMATS
from frazil.formats.protocol import WriterSchema
from frazil.formats.registry.faults import registry_errors
from frazil.formats.registry.subjects import OtherRegistry, subject_versions, writer_schema
from frazil.spec.topic import SCHEMA_KINDS

if TYPE_CHECKING:
    from frazil.formats.registry.client import RegistryClient

_READ_ONLY = 42205


@dataclass(frozen=True, slots=True)
class WantedSchema:
    """A schema that a subject shall have; `source` is the file that it comes from, for errors.

    `todo` is what to do where the registry does not take it.
    """

    kind: str
    text: str
    source: str = "the generator"
    todo: str = "Fix the file."


def read_schema(file: Path) -> WantedSchema:
    """The schema of a file, whose suffix says its format; raises SpecError if the text is not a schema."""
    kind = SCHEMA_KINDS[file.suffix]
    try:
        text = file.read_text(encoding="utf-8")
        SCHEMA_FORMATS[kind].check(text)
    except (OSError, *MALFORMED) as e:
        why = f"{file}: this is no {SCHEMA_FORMATS[kind].title} schema: {e}"
        raise SpecError(why, todo="Fix the file.") from None
    return WantedSchema(kind, text, str(file))


def version_like(client: RegistryClient, subject: str, wanted: WantedSchema | None) -> WriterSchema | None:
    """The newest version of a subject, or the newest that equals a schema; None where there is no subject.

    Raises DifferentError where no version is the schema that is wanted.
    """
    try:
        versions = subject_versions(client, subject)
    except MissingError:
        return None
    living = [version for version in versions if not version.is_deleted]
    if not living:
        return None
    newest = living[-1]
    if wanted is None:
        return newest
    for version in reversed(living):
        if not differences(version, wanted):
            return version
    raise DifferentError(
        f"Subject {subject} holds another schema than the spec.",
        where="; ".join([wanted.source, f"version {newest.version}", *differences(newest, wanted)[:5]]),
        meaning="Nothing was changed; records are read with the schema that they were written with.",
        todo="Make the file the registry's schema, or register the new version yourself.",
    )


def register(client: RegistryClient, subject: str, wanted: WantedSchema) -> WriterSchema:
    """Registers a schema and returns its version, or that of an equal schema that is there already."""
    if isinstance(client, OtherRegistry):
        raise _not_ours(subject)
    from confluent_kafka.schema_registry import Schema

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
            todo=wanted.todo,
        ) from None


def check_registrable(client: RegistryClient, subject: str) -> None:
    """Raises NotAllowedError where a schema may not be registered; changes nothing.

    It sends what is no schema: a registry looks at the right first.
    """
    if isinstance(client, OtherRegistry):
        raise _not_ours(subject)
    from confluent_kafka.schema_registry import Schema
    from confluent_kafka.schema_registry.error import SchemaRegistryError

    with registry_errors(client, subject):
        try:
            client.register_schema(subject, Schema("{", "AVRO"))
        except SchemaRegistryError as e:
            if e.http_status_code not in (400, 422) or e.error_code == _READ_ONLY:
                raise


def _not_ours(subject: str) -> ConfigureError:
    return ConfigureError(
        f"Frazil registers no schema in Glue's registry or Azure's, and {subject} has none there.",
        where=f"schema {subject}",
        meaning="Nothing was changed.",
        todo="Register it by the producer, or by `aws glue create-schema`; or take value_schema and "
        "key_schema out of defs.yaml.",
    )


def differences(registered: WriterSchema, wanted: WantedSchema) -> list[str]:
    """Where a version of a subject and a wanted schema differ, by path."""
    if registered.kind != wanted.kind:
        return [f"it is of type {registered.kind}, {wanted.kind} wanted"]
    shape = SCHEMA_FORMATS[wanted.kind].shape
    try:
        one, two = (
            {path: json.dumps(part) for path, part in shape(schema)}
            for schema in (registered, replace(registered, text=wanted.text))
        )
    except MALFORMED as e:
        return [f"it is no {SCHEMA_FORMATS[wanted.kind].title} schema ({type(e).__name__}: {e!s:.200})"]
    paths = [p for p in {**one, **two} if one.get(p) != two.get(p)]
    return [
        f"{p or '(root)'}: {one.get(p, 'not')} in the registry, {two.get(p, 'not')} wanted" for p in paths
    ]
