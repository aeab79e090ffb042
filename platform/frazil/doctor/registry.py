"""The schema registry: the subjects of topics, read, and registered where the spec has a schema file."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from frazil.doctor.probe import Patient, Probe, Probes, Unproven
from frazil.doctor.remedies import registry_right
from frazil.errors import MissingError
from frazil.formats.halves import half_schemas
from frazil.formats.protocol import KEY, VALUE
from frazil.formats.registry.subjects import WITHOUT_SCHEMA, have_subject, subject_versions
from frazil.formats.registry.wanted import check_registrable
from frazil.spec.names import subject_name
from frazil.spec.topic import TableSpec

if TYPE_CHECKING:
    from frazil.formats.registry.client import RegistryClient


def probes(patient: Patient) -> Probes:
    """Each subject once; one that is missing where a schema is needed is told, too."""
    settings, registry = patient.connections.settings, patient.connections.registry
    judging = [spec for spec in patient.topics if spec.rules == "enforce"]
    judged = {subject_name(spec, half.word) for spec in judging for half in (KEY, VALUE)}
    for name, (is_needed, is_to_register) in subjects(patient).items():
        finding = yield Probe(
            "register the subject" if is_to_register else "read the subject",
            partial(_ask, registry, name, is_needed, is_to_register, name in judged),
            name,
            registry_right(settings, name, "write" if is_to_register else "read"),
        )
        if finding.status == "down":
            return
    for spec in (spec for spec in patient.topics if spec.encryption == "decrypt"):
        yield Probe("open the keys of fields", partial(_make_decoders, registry, spec), spec.topic)
    for spec in judging:
        yield Probe("ask the rules of schemas", partial(_make_decoders, registry, spec), spec.topic)


def subjects(patient: Patient) -> dict[str, tuple[bool, bool]]:
    """The subjects of all topics: whether each must be there, and whether Frazil makes it."""
    fed = {subject_name(spec, "value"): (False, True) for spec in patient.feeds}
    return {name: how for spec in patient.topics for name, how in _subjects(spec)} | fed


def _subjects(spec: TableSpec) -> Iterator[tuple[str, tuple[bool, bool]]]:
    if have_subject(spec):
        yield subject_name(spec, "value"), (True, spec.value_schema is not None)
    if spec.key_format not in WITHOUT_SCHEMA:
        yield subject_name(spec, "key"), (spec.key_format != "auto", spec.key_schema is not None)


def _ask(
    registry: RegistryClient, subject: str, is_needed: bool, is_to_register: bool, asks_rules: bool
) -> None:
    try:
        versions = subject_versions(registry, subject)
    except MissingError:
        if is_to_register:
            check_registrable(registry, subject)
        elif is_needed:
            raise
        return
    if (unasked := versions[-1].contract.for_readers) and not asks_rules:
        names = ", ".join(rule.title for rule in unasked)
        raise Unproven(
            f"its rules {names} are for readers, and Frazil asks none: write rules: enforce, or checks"
        )


def _make_decoders(registry: RegistryClient, spec: TableSpec) -> None:
    for half in (KEY, VALUE):
        half_schemas(spec, half, registry).decoder()
