"""How the key and the value of a topic's records are written: as the spec says, else as the registry does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from frazil.errors import ConfigureError, MissingError
from frazil.formats.columns.columns import rest_field
from frazil.formats.columns.unmappable import Unmappable
from frazil.formats.debezium.envelope import ROWS_AT
from frazil.formats.debezium.types import with_types
from frazil.formats.encryption.contract import Rule
from frazil.formats.encryption.format import EncryptedFields
from frazil.formats.encryption.keys import RuleKeys
from frazil.formats.json.given.format import ListedFields
from frazil.formats.kinds import PLAIN_FORMATS, SCHEMA_FORMATS, schema_format
from frazil.formats.protocol import KEY, VALUE, Half, HalfSchemas, WriterSchema
from frazil.formats.registry.subjects import subject_versions
from frazil.formats.rules.format import JudgedRecords
from frazil.spec.guard import LEAVE_OUT, OPTIONAL
from frazil.spec.names import subject_name
from frazil.spec.topic import TableSpec

if TYPE_CHECKING:
    from frazil.formats.registry.client import RegistryClient


def half_schemas(spec: TableSpec, half: Half, registry: RegistryClient) -> HalfSchemas:
    """How a half is written: as the spec says, by its list of fields too, else as the registry does.

    A key without a subject is bytes. A value without one is a MissingError: bytes by mistake could never
    become columns again. A subject of another format than the spec says is a ConfigureError.
    """
    wanted = spec.key_format if half == KEY else spec.value_format
    if wanted in PLAIN_FORMATS:
        return plain_half(spec, half, wanted)
    if listed := listed_half(spec, half):
        return listed
    try:
        writers = subject_versions(registry, subject_name(spec, half.word))
    except MissingError:
        if half == KEY and wanted == "auto":
            return plain_half(spec, half, "bytes")
        raise
    return with_rules(with_encryption(fitting_schemas(spec, half, writers), spec, registry), spec)


def fitting_schemas(spec: TableSpec, half: Half, writers: Sequence[WriterSchema]) -> HalfSchemas:
    """As `schemas_of`; raises ConfigureError where the spec says another format, or a message of it."""
    schemas = schemas_of(spec, half, writers)
    _check(spec, spec.key_format if half == KEY else spec.value_format, schemas)
    return schemas


def with_encryption(schemas: HalfSchemas, spec: TableSpec, registry: RegistryClient) -> HalfSchemas:
    """The same; where rules of a version encrypt fields, as the spec says what becomes of these.

    Raises:
        ConfigureError: A rule encrypts whole payloads.
    """
    contracts = [writer.contract for writer in schemas.writers]
    if sealing := next((rule for contract in contracts for rule in contract.sealing), None):
        raise ConfigureError(
            f"Rule {sealing.name} of the schema encrypts whole payloads, which Frazil does not open.",
            where=f"subject {schemas.subject}",
            meaning="Nothing was landed.",
            todo="Encrypt fields instead, by a rule of type ENCRYPT; or land bytes: value_format: bytes.",
        )
    known = SCHEMA_FORMATS.get(schemas.writers[-1].kind)
    if known is None or not any(contract.encrypting for contract in contracts):
        return schemas

    def open_keys(writer: WriterSchema, rule: Rule) -> RuleKeys:
        from frazil.formats.registry.data_keys import rule_keys

        return rule_keys(registry, schemas.subject, writer.contract, rule)

    opener = open_keys if spec.encryption == "decrypt" else None
    return replace(schemas, format=EncryptedFields(known, opener))


def with_rules(schemas: HalfSchemas, spec: TableSpec) -> HalfSchemas:
    """The same; where the spec wants that, records are bad that fail a rule for readers."""
    if spec.rules == "ignore":
        return schemas
    opens = spec.encryption == "decrypt"
    return replace(schemas, format=JudgedRecords(schemas.format, opens), asks_rules=True)


def schemas_of(spec: TableSpec, half: Half, writers: Sequence[WriterSchema]) -> HalfSchemas:
    """How a half is written, by the versions of its subject, oldest first; the newest decides the format."""
    subject, kind = subject_name(spec, half.word), writers[-1].kind
    if spec.mode == "cdc":
        _refuse_protobuf(spec, kind)
        writers = [with_types(w) for w in writers]
    return HalfSchemas(
        half,
        schema_format(kind, subject),
        subject,
        writers=tuple(w for w in writers if w.kind == kind),
        framed=spec.framing == "confluent",
        record_type=spec.record_type if half == VALUE else None,
        strict=spec.validation == "strict",
        renames=tuple(_renames(spec, half)),
        spared=tuple(_spared(spec, half)),
        unmappable=Unmappable.of(
            spec.unmappable, ROWS_AT if spec.mode == "cdc" else (), spec.wide_decimals == "text"
        ),
    )


def _refuse_protobuf(spec: TableSpec, kind: str) -> None:
    """Debezium's records in Protobuf were never tried: what an absent field means there is not known."""
    if kind == "PROTOBUF":
        raise ConfigureError(
            f"Topic {spec.topic} is written in Protobuf, and mode: cdc takes Avro and JSON only.",
            meaning="Nothing was landed.",
            todo="Take the Avro or the JSON Schema converter; or unwrap in the connector, for mode: upsert.",
        )


def _renames(spec: TableSpec, half: Half) -> Iterator[tuple[str, str]]:
    """Approved renames, with the paths that fields have in the records."""
    for rename in (each.rename for each in spec.migrations if each.rename):
        yield from ((f"{at}{rename.from_}", rename.to) for at in _rows_at(spec, half))


def _spared(spec: TableSpec, half: Half) -> Iterator[str]:
    """Fields whose column may be null or is not there, with the paths that they have in the records."""
    names = [name for name, word in spec.column_words.items() if word in (LEAVE_OUT, OPTIONAL)]
    return (f"{at}{name}" for at in _rows_at(spec, half) for name in names)


def _rows_at(spec: TableSpec, half: Half) -> tuple[str, ...]:
    return ROWS_AT if spec.mode == "cdc" and half == VALUE else ("",)


def plain_half(spec: TableSpec, half: Half, name: str) -> HalfSchemas:
    """A half of a format that needs no schema."""
    return HalfSchemas(half, PLAIN_FORMATS[name], subject_name(spec, half.word))


def listed_half(spec: TableSpec, half: Half) -> HalfSchemas | None:
    """The half by the spec's list of its fields; None where it has none."""
    if half != VALUE or not spec.fields:
        return None
    listed = ListedFields(spec.fields, rest_field(spec))
    return HalfSchemas(half, listed, subject_name(spec, half.word), framed=False)


def _check(spec: TableSpec, wanted: str, schemas: HalfSchemas) -> None:
    newest = schemas.writers[-1]
    name = newest.kind.lower()
    if wanted not in ("auto", name):
        raise ConfigureError(
            f"Subject {schemas.subject} is of format {name}, the spec says {wanted}.",
            where=f"version {newest.version}",
            meaning="Nothing was landed.",
            todo=f"Write {schemas.half.word}_format: {name} in defs.yaml, or leave it out.",
        )
    takes = schema_format(newest.kind, schemas.subject).takes_record_type
    if schemas.record_type and spec.subject_names == "topic" and not takes:
        raise ConfigureError(
            f"record_type: {spec.record_type} picks a message of a Protobuf schema, and this one is {name}.",
            where=f"subject {schemas.subject}",
            meaning="Nothing was landed.",
            todo="Drop record_type; or say by subject_names that each record has a subject of its own.",
        )
