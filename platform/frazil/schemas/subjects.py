"""Subjects as a spec wants them: registered where missing, never changed in silence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from confluent_kafka.schema_registry import Schema

from frazil.errors import DifferentError, MissingError, SpecError
from frazil.schemas.registry import (
    RegistryClient,
    WriterSchema,
    registry_errors,
    subject_versions,
    writer_schema,
)

__all__ = ["differences", "newest_version", "read_avro", "register", "version_like"]

_SHAPE = ("symbols", "size", "logicalType", "precision", "scale", "default", "aliases", "order")
"""What else than type and name makes two schemas differ; texts and other systems' notes do not."""


_PRIMITIVE = frozenset(
    {"null", "boolean", "int", "long", "float", "double", "bytes", "string", "array", "map"}
)


def read_avro(file: Path) -> str:
    """The text of an Avro schema's file.

    Raises:
        SpecError: It can't be read, or is no JSON.
    """
    try:
        text = file.read_text(encoding="utf-8")
        json.loads(text)
    except (OSError, ValueError) as e:
        raise SpecError(f"{file}: this is no Avro schema: {e}", todo="Mend the file.") from None
    return text


def newest_version(client: RegistryClient, subject: str) -> WriterSchema | None:
    """The newest version of a subject, none where there is no such subject."""
    try:
        return subject_versions(client, subject)[-1]
    except MissingError:
        return None


def version_like(client: RegistryClient, subject: str, text: str) -> WriterSchema | None:
    """The newest version of a subject that equals a schema, none where there is no such subject.

    Raises:
        DifferentError: The subject is there, and none of its versions is this schema.
    """
    try:
        versions = subject_versions(client, subject)
    except MissingError:
        return None
    for version in reversed(versions):
        if version.kind == "AVRO" and not differences(version.text, text):
            return version
    newest = versions[-1]
    raise DifferentError(
        f"Subject {subject} holds another schema than the spec.",
        where="; ".join(_against(newest, text)),
        meaning="Nothing was changed; records are read with the schema that they were written with.",
        todo="Make value_schema the registry's schema, or register the new version yourself.",
    )


def register(client: RegistryClient, subject: str, text: str) -> WriterSchema:
    """Registers an Avro schema; the version that is there, where it is there already."""
    with registry_errors(client, subject):
        client.register_schema(subject, Schema(text, "AVRO"))
        return writer_schema(client.lookup_schema(subject, Schema(text, "AVRO")))


def differences(registered: str, wanted: str) -> list[str]:
    """What two Avro schemas do not share, by path; none where both describe the same records."""
    one, two = (dict(_parts(json.loads(text), "", "")) for text in (registered, wanted))
    paths = [p for p in {**one, **two} if one.get(p) != two.get(p)]
    return [f"{p or '(root)'}: {_told(one, p)} in the registry, {_told(two, p)} wanted" for p in paths]


def _against(newest: WriterSchema, text: str) -> list[str]:
    if newest.kind != "AVRO":
        return [f"version {newest.version} is of type {newest.kind}, AVRO wanted"]
    return [f"version {newest.version}", *differences(newest.text, text)[:5]]


def _told(parts: dict[str, Any], path: str) -> str:
    return json.dumps(parts[path]) if path in parts else "not"


def _parts(schema: Any, path: str, namespace: str) -> Iterator[tuple[str, Any]]:
    """Everything that gives records their shape, by path."""
    if isinstance(schema, list):
        yield path, [_branch(branch, namespace) for branch in schema]
        for i, branch in enumerate(schema):
            yield from _parts(branch, f"{path}[{i}]", namespace)
    elif isinstance(schema, str):
        yield path, _full(schema, namespace)
    elif isinstance(schema["type"], dict | list):
        yield from _parts(schema["type"], path, namespace)
    else:
        yield from _node(schema, path, namespace)


def _branch(schema: Any, namespace: str) -> str:
    if isinstance(schema, dict):
        return _full(schema.get("name", str(schema["type"])), schema.get("namespace", namespace))
    return _full(schema, namespace)


def _node(schema: dict[str, Any], path: str, namespace: str) -> Iterator[tuple[str, Any]]:
    kind = schema["type"]
    if "name" in schema:
        name = _full(schema["name"], schema.get("namespace", namespace))
        namespace = name.rpartition(".")[0]
        yield path, f"{kind} {name}"
    else:
        yield path, _full(kind, namespace)
    yield from _shape(schema, path)
    for inner in ("items", "values"):
        if inner in schema:
            yield from _parts(schema[inner], f"{path}.{inner}", namespace)
    for place, field in enumerate(schema.get("fields", ())):
        at = f"{path}.{field['name']}".lstrip(".")
        yield f"{at} (position)", place
        yield from _shape(field, at, " (field)")
        yield from _parts(field["type"], at, namespace)


def _shape(schema: dict[str, Any], path: str, kind: str = "") -> Iterator[tuple[str, Any]]:
    return ((f"{path} {key}{kind}", schema[key]) for key in _SHAPE if key in schema)


def _full(name: str, namespace: str) -> str:
    simple = "." in name or not namespace or name in _PRIMITIVE
    return name if simple else f"{namespace}.{name}"
