"""The schema registry: its subjects' versions, and subjects as a spec wants them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from frazil.errors import (
    MALFORMED,
    STAYS,
    ConfigureError,
    DifferentError,
    FrazilError,
    MissingError,
    NotAllowedError,
    PartDownError,
    SpecError,
)
from frazil.formats.kinds import SCHEMA_FORMATS
from frazil.formats.protocol import WriterSchema
from frazil.settings.nearby import to_start
from frazil.spec.topic import SCHEMA_KINDS

if TYPE_CHECKING:
    # Confluent's client brings 0.2 s of libraries: only who talks to a registry imports it.
    from confluent_kafka.schema_registry import RegisteredSchema, SchemaRegistryClient
    from confluent_kafka.schema_registry.error import SchemaRegistryError

    from frazil.formats.registry.client import RegistryClient

_OF_TLS = ("CERTIFICATE_VERIFY_FAILED", "_ALERT_")
"""What a connection says that ended because one side did not take the other's certificate."""

WITHOUT_SCHEMA = ("string", "bytes", "none")
"""Formats of a key or a value for which nobody asks the registry."""

_MISSING = frozenset({40401, 40402, 40403})
"""Subject, version, schema."""
_READ_ONLY = 42205


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
    with _registry_errors(client, subject):
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
            if all(writer.dependencies or not writer.references for writer in known):
                client.remembered[subject] = known  # else what is missing may be registered again
    return known


def owners(client: RegistryClient, schema_id: int) -> tuple[str, ...]:
    """The subjects that a schema is of, softly deleted ones, too; none where there is no such id."""
    if isinstance(client, OtherRegistry):
        return ()
    try:
        with _registry_errors(client, f"of id {schema_id}"):
            return tuple(sorted(client.get_subjects_by_schema_id(schema_id, deleted=True)))
    except MissingError:
        return ()


def _newest(client: RegistryClient, subject: str) -> WriterSchema:
    """The newest version; of a subject that is deleted softly as a whole the newest one it had."""
    from confluent_kafka.schema_registry.error import SchemaRegistryError

    try:
        return _writer_schema(client.get_version(subject, "latest"))
    except SchemaRegistryError as e:
        if e.error_code not in _MISSING or not (gone := client.get_versions(subject, deleted=True)):
            raise
    try:
        return _version(client, subject, max(gone), is_deleted=True)
    except SchemaRegistryError as e:  # Apicurio shows no version of such a subject
        if e.error_code not in _MISSING:
            raise
    raise MissingError(
        f"Subject {subject} was deleted, with all its versions.",
        where=f"{_address(client)}: versions {sorted(gone)} are deleted softly, and it shows none of them",
        meaning="Without a schema no record can be read. Nothing was landed.",
        todo="Register its newest schema again: the registry then shows the older ones, too.",
    )


def _version(client: RegistryClient, subject: str, version: int, is_deleted: bool = False) -> WriterSchema:
    """One version, deleted softly or not."""
    return replace(_writer_schema(client.get_version(subject, version, deleted=True)), is_deleted=is_deleted)


def _writer_schema(found: RegisteredSchema) -> WriterSchema:
    """The registry's answer, frozen."""
    schema = found.schema
    references = tuple((str(r.name), str(r.subject), r.version or 0) for r in schema.references or ())
    writer = WriterSchema(
        schema_id=found.schema_id or 0,
        version=found.version or 0,
        text=schema.schema_str or "",
        kind=schema.schema_type or "AVRO",
        references=references,
        guid=found.guid or "",
    )
    numbers, texts = (writer.schema_id, writer.version), (writer.text, writer.kind, writer.guid)
    parts = [*((number, int) for number in numbers), *((text, str) for text in texts)]
    if odd := [value for value, kind in parts if not isinstance(value, kind)]:
        raise TypeError(f"{odd[0]!r:.100} is no part of a schema")
    return writer


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
        with _registry_errors(client, subject):
            client.register_schema(subject, schema)
            return _writer_schema(client.lookup_schema(subject, schema))
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

    with _registry_errors(client, subject):
        try:
            client.register_schema(subject, Schema("{", "AVRO"))
        except SchemaRegistryError as e:
            if e.http_status_code not in (400, 422) or e.error_code == _READ_ONLY:
                raise


def _not_ours(subject: str) -> ConfigureError:
    return ConfigureError(
        f"Frazil registers no schema in Glue's registry, and {subject} has none there.",
        where=f"schema {subject}",
        meaning="Nothing was changed.",
        todo="Register it by the producer or `aws glue create-schema`; or take value_schema and key_schema "
        "out of defs.yaml.",
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


def _complete(client: RegistryClient, writer: WriterSchema) -> WriterSchema:
    """The schema with the texts of all that it refers to, each once, deepest first.

    Without them where one was deleted for good: its format then says the name that means nothing.
    """
    from confluent_kafka.schema_registry.error import SchemaRegistryError

    try:
        return replace(writer, dependencies=tuple(_referred(client, writer).items()))
    except SchemaRegistryError as e:
        if e.error_code not in _MISSING:
            raise
        return writer


def _referred(client: RegistryClient, writer: WriterSchema) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, subject, version in writer.references:
        needed = _version(client, subject, version)
        found |= _referred(client, needed) | {name: needed.text}
    return found


@contextmanager
def _registry_errors(client: SchemaRegistryClient, subject: str) -> Iterator[None]:
    """Turns the exceptions of the registry's client into ours."""
    # The client's own choice between httpx and httpx2, whose errors it lets through.
    from confluent_kafka.schema_registry.common._httpx_compat import httpx
    from confluent_kafka.schema_registry.error import OAuthTokenError, SchemaRegistryError

    try:
        yield
    except SchemaRegistryError as e:
        raise _refused(e, _address(client), subject) from None
    except OAuthTokenError as e:
        raise _locked_out(_address(client), str(e)) from None
    except (httpx.HTTPError, httpx.InvalidURL, *MALFORMED) as e:
        if any(sign in str(e) for sign in _OF_TLS):
            raise _locked_out(_address(client), str(e)) from None
        raise _down(_address(client), f"{type(e).__name__} {e}") from None


def _refused(error: SchemaRegistryError, address: str, subject: str) -> FrazilError:
    status, text = error.http_status_code, error.error_message
    if error.error_code in _MISSING:
        return MissingError(
            f"Subject {subject} does not exist.",
            where=address,
            meaning="Without a schema no record can be read. Nothing was landed.",
            todo="Produce with a schema, or name the schema's file as value_schema in defs.yaml: the next "
            "landing registers it.",
        )
    if status == 401:
        return _locked_out(address, f"HTTP {status}")
    if status == 403:
        return NotAllowedError(
            "The schema registry does not allow it.",
            where=f"subject {subject} at {address}: {text}",
            meaning=STAYS,
            todo="`frazil doctor` says which right is missing.",
        )
    if status >= 500 or status in (404, 408, 429):
        return _down(address, f"HTTP {status}: {text}")
    return ConfigureError(
        f"The schema registry refuses: {text}",
        where=f"subject {subject} at {address}, HTTP {status}, code {error.error_code}",
        todo="Fix what it names; or FRAZIL_REGISTRY__URL, if that is no registry's address.",
    )


def _locked_out(address: str, text: str) -> ConfigureError:
    return ConfigureError(
        "The schema registry gives no access.",
        where=f"{address}: {text}",
        meaning=STAYS,
        todo="Fix FRAZIL_REGISTRY__USER_INFO or another FRAZIL_REGISTRY__..., see docs/connect.md.",
    )


def _down(address: str, text: str) -> PartDownError:
    return PartDownError(
        "The schema registry does not answer.",
        where=f"{address}: {text}",
        meaning=STAYS,
        todo=f"{to_start(address)} Or fix FRAZIL_REGISTRY__URL.",
    )


def _address(client: SchemaRegistryClient) -> str:
    """The registry's URLs without the password that one may hold."""
    return ", ".join(url.rpartition("@")[2] for url in client._rest_client.base_urls)
