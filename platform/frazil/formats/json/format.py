"""JSON Schema among the formats: its columns, its decoder, and what gives its records their shape."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from frazil.formats.json.decoder import JsonDecoder
from frazil.formats.json.writers import json_columns
from frazil.formats.logical import Struct
from frazil.formats.protocol import HalfSchemas, WriterSchema

__all__ = ["Json"]

Parts = Iterator[tuple[str, Any]]

_NOTES = frozenset({"$schema", "$id", "$comment", "description", "examples"})
"""Keywords that say nothing about a record's shape."""

_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keywords below which stand the author's own names, whatever they look like."""


class Json:
    """See `SchemaFormat`."""

    title = "JSON"
    takes_record_type = False

    def columns(self, schemas: HalfSchemas) -> Struct:
        """See `Format.columns`."""
        return json_columns(schemas.writers, schemas.subject, schemas.half.word)

    def decoder(self, schemas: HalfSchemas) -> JsonDecoder:
        """See `Format.decoder`."""
        return JsonDecoder(schemas.writers, schemas.subject, schemas.half, schemas.strict, schemas.framed)

    def check(self, text: str) -> None:
        """See `SchemaFormat.check`."""
        import jsonschema_rs

        nothing_else = jsonschema_rs.Registry([])  # else it would fetch a meta-schema from anywhere
        try:
            jsonschema_rs.meta.validate(json.loads(text), registry=nothing_else)
        except jsonschema_rs.ReferencingError as e:
            raise ValueError(str(e)) from None

    def shape(self, schema: WriterSchema) -> Parts:
        """See `SchemaFormat.shape`: docs and the order of keywords make no difference."""
        return _json(json.loads(schema.text), "")


def _json(schema: Any, path: str, own_names: bool = False) -> Parts:
    match schema:
        case {} if schema:
            for word in sorted(schema):
                if own_names or word not in _NOTES:
                    yield from _json(schema[word], f"{path}.{word}".lstrip("."), _opens(word, own_names))
        case [*items] if any(isinstance(item, dict | list) for item in items):
            for i, item in enumerate(items):
                yield from _json(item, f"{path}[{i}]")
        case [*items]:
            yield path, sorted(items, key=json.dumps)
        case _:
            yield path, schema


def _opens(word: str, own_names: bool) -> bool:
    return not own_names and word in _NAMED
