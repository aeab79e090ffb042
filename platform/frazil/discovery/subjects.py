"""Which subjects of the registry the records of a topic are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from frazil.discovery.looks import is_framed, schema_id
from frazil.discovery.sample import Sample
from frazil.errors import FrazilError, MissingError
from frazil.formats.registry.subjects import owners, subject_versions
from frazil.spec.names import subject_name
from frazil.spec.topic import TableSpec

if TYPE_CHECKING:
    from frazil.formats.registry.client import RegistryClient


def named_subjects(topic: str, sample: Sample, registry: RegistryClient) -> dict[str, str]:
    """Subjects of other names that the records are of: MirrorMaker renames topics, and no subject."""
    halves: dict[Literal["key", "value"], Sequence[bytes | None]] = {
        "key": sample.keys,
        "value": sample.values,
    }
    names: dict[str, str] = {}
    for half, parts in halves.items():
        own = subject_name(TableSpec(topic=topic), half)
        with suppress(FrazilError):
            whose = list(_owners(parts, registry).values())
            subjects = set.intersection(*whose) if whose else set()
            if own not in subjects and len(fits := _alike(subjects, topic, half)) == 1:
                names[f"{half}_subject"] = fits[0]
    return names


def record_types(topic: str, sample: Sample, registry: RegistryClient) -> list[dict[str, Any]]:
    """What the spec of each type of record says, where a topic has several with subjects of their own."""
    there = [value for value in sample.values if value is not None]
    if not there or not all(map(is_framed, there)):
        return []
    try:
        whose = _owners(there, registry)
    except FrazilError:
        return []
    own, before = f"{topic}-value", f"{topic}-"
    if any(own in subjects or not subjects for subjects in whose.values()):
        return []
    topical = {s.removeprefix(before) for each in whose.values() for s in each if s.startswith(before)}
    if len(topical) > 1 and all(any(s.startswith(before) for s in each) for each in whose.values()):
        return _tables("topic_record", sorted(topical))
    single = {min(subjects) for subjects in whose.values()}
    return _tables("record", sorted(single)) if len(single) > 1 else []


def subject_kinds(spec: TableSpec, registry: RegistryClient) -> dict[str, str]:
    """The formats of the subjects that a topic has, of `key` and `value`."""
    halves: tuple[Literal["key", "value"], ...] = ("key", "value")
    kinds: dict[str, str] = {}
    for half in halves:
        with suppress(MissingError):
            kinds[half] = subject_versions(registry, subject_name(spec, half))[-1].kind
    return kinds


def _tables(strategy: str, types: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {"subject_names": strategy, "record_type": own, "other_types": [t for t in types if t != own]}
        for own in types
    ]


def _owners(parts: Sequence[bytes | None], registry: RegistryClient) -> Mapping[int, set[str]]:
    """The subjects of each schema id that records begin with."""
    ids = {schema_id(part) for part in parts if part is not None and is_framed(part)}
    return {each: set(owners(registry, each)) for each in sorted(ids)}


def _alike(subjects: set[str], topic: str, half: str) -> list[str]:
    """Those that are named after a topic of which this one may be a copy; else all."""
    copied = [s for s in subjects if s.endswith(f"-{half}") and topic.endswith(s.removesuffix(f"-{half}"))]
    return copied or sorted(subjects)
