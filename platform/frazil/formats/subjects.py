"""Subjects as a spec wants them: registered where missing, never changed in silence."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from confluent_kafka.schema_registry import Schema

from frazil.errors import ConfigureError, DifferentError, MissingError, SpecError
from frazil.formats.kinds import SCHEMA_FORMATS
from frazil.formats.protocol import WriterSchema
from frazil.formats.registry import RegistryClient, registry_errors, subject_versions, writer_schema
from frazil.spec.topic import SCHEMA_KINDS

__all__ = ["WantedSchema", "differences", "newest_version", "read_schema", "register", "version_like"]


@dataclass(frozen=True, slots=True)
class WantedSchema:
    """A schema that a subject shall have.

    Args:
        kind: Its format, by the registry's name.
        text: The schema itself.
        source: Where it comes from, for errors: a file.
    """

    kind: str
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
        SCHEMA_FORMATS[kind].check(text)
    except (OSError, ValueError) as e:
        told = f"{file}: this is no {SCHEMA_FORMATS[kind].title} schema: {e}"
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
        if not differences(version, wanted):
            return version
    newest = versions[-1]
    raise DifferentError(
        f"Subject {subject} holds another schema than the spec.",
        where="; ".join([wanted.source, f"version {newest.version}", *differences(newest, wanted)[:5]]),
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


def differences(registered: WriterSchema, wanted: WantedSchema) -> list[str]:
    """What a version of a subject and a wanted schema do not share, by path.

    Raises:
        SchemaRefusedError: One of the two is no schema.
    """
    if registered.kind != wanted.kind:
        return [f"it is of type {registered.kind}, {wanted.kind} wanted"]
    shape = SCHEMA_FORMATS[wanted.kind].shape
    one, two = (
        {path: json.dumps(part) for path, part in shape(schema)}
        for schema in (registered, replace(registered, text=wanted.text))
    )
    paths = [p for p in {**one, **two} if one.get(p) != two.get(p)]
    return [
        f"{p or '(root)'}: {one.get(p, 'not')} in the registry, {two.get(p, 'not')} wanted" for p in paths
    ]
