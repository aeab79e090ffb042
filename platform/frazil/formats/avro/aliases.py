"""Approved renames as Avro aliases: records of the old name land in the renamed column."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from frazil.formats.registry import WriterSchema
from frazil.spec.migrations import Migration

__all__ = ["with_aliases"]


def with_aliases(writers: Sequence[WriterSchema], migrations: Iterable[Migration]) -> list[WriterSchema]:
    """The writers, the last of which, as the reader, knows its fields by their former names, too.

    Args:
        writers: Avro schemas of one subject, oldest first.
        migrations: As the spec has them.
    """
    renames = [m.rename for m in migrations if m.rename]
    if not renames or not writers:
        return list(writers)
    *older, newest = writers
    schema = json.loads(newest.text)
    for rename in renames:
        *parents, old = rename.from_.split(".")
        for field in _fields(schema, parents):
            if field["name"] == rename.to:
                field["aliases"] = [*field.get("aliases", ()), old]
    return [*older, replace(newest, text=json.dumps(schema))]


def _fields(schema: Any, path: Sequence[str]) -> list[dict[str, Any]]:
    """Fields of the record at a path; none where it is another one's by name, or is not there."""
    if isinstance(schema, list):
        return [f for branch in schema for f in _fields(branch, path)]
    if not isinstance(schema, dict):
        return []
    if isinstance(schema["type"], dict | list):
        return _fields(schema["type"], path)
    if "items" in schema or "values" in schema:
        inside = path[:1] in (["element"], ["value"])
        return _fields(schema.get("items", schema.get("values")), path[1:]) if inside else []
    fields: list[dict[str, Any]] = schema.get("fields", [])
    if not path:
        return fields
    return [f for field in fields if field["name"] == path[0] for f in _fields(field["type"], path[1:])]
