"""The schema registry: the versions of its subjects."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from frazil.errors import (
    MissingError,
)
from frazil.formats.encryption.contract import contract_of
from frazil.formats.protocol import WriterSchema
from frazil.formats.registry.faults import MISSING, address, registry_errors
from frazil.formats.registry.other_ids import with_other_ids
from frazil.spec.topic import TableSpec

if TYPE_CHECKING:
    # Confluent's client brings 0.2 s of libraries: only who talks to a registry imports it.
    from confluent_kafka.schema_registry import RegisteredSchema

    from frazil.formats.registry.client import RegistryClient

WITHOUT_SCHEMA = ("string", "bytes", "none")
"""Formats of a key or a value for which nobody asks the registry."""


def have_subject(spec: TableSpec) -> bool:
    """Whether a landing asks the registry for the schema of a table's values."""
    return spec.value_format not in WITHOUT_SCHEMA and not spec.fields


@runtime_checkable
class OtherRegistry(Protocol):
    """A registry that does not speak Confluent's protocol, and tells versions by itself."""

    def versions(self, subject: str) -> tuple[WriterSchema, ...]:
        """See `subject_versions`."""


def subject_versions(client: RegistryClient, subject: str) -> tuple[WriterSchema, ...]:
    """All versions of a subject; one small request where nothing changed.

    Those that were deleted softly are among them: records name them all the same. The newest one that was
    not deleted is the last one, the others come oldest first. Versions and ids do not change, but a subject
    can be deleted for good and recreated. Then its newest version is another one, and everything is read
    anew. Raises MissingError where there is no such subject, or it was deleted for good.
    """
    if isinstance(client, OtherRegistry):
        return client.versions(subject)
    with registry_errors(client, subject):
        newest = _newest(client, subject)
        known = client.remembered.get(subject)
        if not known or known[-1] != newest:
            client.clear_caches()  # type: ignore[no-untyped-call]
            living = set() if newest.is_deleted else set(client.get_versions(subject))
            every = set(client.get_versions(subject, deleted=True))
            if newest.version not in (every if newest.is_deleted else living):
                raise LookupError(f"it says that {subject} is there, and has no version of it")
            known = tuple(
                _complete(client, _version(client, subject, version, version not in living))
                for version in sorted(every | living, key=lambda v: (v == newest.version, v))
            )
            known = with_other_ids(client, subject, known)
            if all(writer.dependencies or not writer.references for writer in known):
                client.remembered[subject] = known  # else what is missing may be registered again
    return known


def owners(client: RegistryClient, schema_id: int) -> tuple[str, ...]:
    """The subjects that a schema is of, softly deleted ones, too; none where there is no such id."""
    if isinstance(client, OtherRegistry):
        return ()
    try:
        with registry_errors(client, f"of id {schema_id}"):
            return tuple(sorted(_subjects_of(client, schema_id)))
    except MissingError:
        return ()


def _subjects_of(client: RegistryClient, schema_id: int) -> set[str]:
    from confluent_kafka.schema_registry.error import SchemaRegistryError

    try:
        return set(client.get_subjects_by_schema_id(schema_id, deleted=True))
    except SchemaRegistryError as e:
        if e.http_status_code != 404 or e.error_code in MISSING:
            raise
    # Karapace has no such path; it tells the versions of an id, of an unknown one an empty list.
    return {str(each.subject) for each in client.get_schema_versions(schema_id, deleted=True)}


def _newest(client: RegistryClient, subject: str) -> WriterSchema:
    """The newest version; of a subject that is deleted softly as a whole the newest one it had."""
    from confluent_kafka.schema_registry.error import SchemaRegistryError

    try:
        return writer_schema(client.get_version(subject, "latest"))
    except SchemaRegistryError as e:
        if e.error_code not in MISSING or not (gone := client.get_versions(subject, deleted=True)):
            raise
    try:
        return _version(client, subject, max(gone), is_deleted=True)
    except SchemaRegistryError as e:  # Apicurio shows no version of such a subject
        if e.error_code not in MISSING:
            raise
    raise MissingError(
        f"Subject {subject} was deleted, with all its versions.",
        where=f"{address(client)}: versions {sorted(gone)} are deleted softly, and it shows none of them",
        meaning="Without a schema no record can be read. Nothing was landed.",
        todo="Register its newest schema again: the registry then shows the older ones, too.",
    )


def _version(client: RegistryClient, subject: str, version: int, is_deleted: bool = False) -> WriterSchema:
    """One version, deleted softly or not."""
    return replace(writer_schema(client.get_version(subject, version, deleted=True)), is_deleted=is_deleted)


def writer_schema(registered: RegisteredSchema) -> WriterSchema:
    """The registry's answer, frozen."""
    schema = registered.schema
    references = tuple((str(r.name), str(r.subject), r.version or 0) for r in schema.references or ())
    writer = WriterSchema(
        schema_id=registered.schema_id or 0,
        version=registered.version or 0,
        text=schema.schema_str or "",
        kind=schema.schema_type or "AVRO",
        references=references,
        guid=registered.guid or "",
        contract=contract_of(schema),
    )
    numbers = (writer.schema_id, writer.version)
    texts = (writer.text, writer.kind, writer.guid, registered.subject or "")
    parts = [*((number, int) for number in numbers), *((text, str) for text in texts)]
    if odd := [value for value, kind in parts if not isinstance(value, kind)]:
        raise TypeError(f"{odd[0]!r:.100} is no part of a schema")
    return writer


def _complete(client: RegistryClient, writer: WriterSchema) -> WriterSchema:
    """The schema with the texts of all that it refers to, each once, deepest first.

    Without them where one was deleted for good: its format then says the name that means nothing.
    """
    from confluent_kafka.schema_registry.error import SchemaRegistryError

    try:
        return replace(writer, dependencies=tuple(_referred(client, writer).items()))
    except SchemaRegistryError as e:
        if e.error_code not in MISSING:
            raise
        return writer


def _referred(client: RegistryClient, writer: WriterSchema) -> dict[str, str]:
    texts: dict[str, str] = {}
    for name, subject, version in writer.references:
        needed = _version(client, subject, version)
        texts |= _referred(client, needed) | {name: needed.text}
    return texts
