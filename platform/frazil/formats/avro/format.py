"""Avro among the formats: its columns, its decoder, and what gives its records their shape."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from frazil.formats.avro.decoder import AvroDecoder
from frazil.formats.avro.schema import avro_to_logical
from frazil.formats.logical import Struct
from frazil.formats.protocol import HalfSchemas, WriterSchema

__all__ = ["Avro"]

Parts = Iterator[tuple[str, Any]]

_SHAPE = ("symbols", "size", "logicalType", "precision", "scale", "default", "aliases", "order")
"""What else than type and name makes two Avro schemas differ; texts and other systems' notes do not."""

_PRIMITIVE = frozenset(
    {"null", "boolean", "int", "long", "float", "double", "bytes", "string", "array", "map"}
)


class Avro:
    """See `SchemaFormat`."""

    title = "Avro"
    takes_record_type = False

    def columns(self, schemas: HalfSchemas) -> Struct:
        """See `Format.columns`."""
        newest = schemas.writers[-1]
        return avro_to_logical(newest.text, schemas.subject, newest.dependencies, schemas.half.word)

    def decoder(self, schemas: HalfSchemas) -> AvroDecoder:
        """See `Format.decoder`; an approved rename is an alias: the old field lands in the new column."""
        return AvroDecoder(replace(schemas, writers=_with_aliases(schemas.writers, schemas.renames)))

    def check(self, text: str) -> None:
        """See `SchemaFormat.check`."""
        import fastavro

        try:
            fastavro.parse_schema(json.loads(text))
        except fastavro.schema.UnknownType as e:
            raise ValueError(f"there is no type {e}") from None
        except KeyError as e:
            raise ValueError(f"{e} is missing") from None
        except (fastavro.schema.SchemaParseException, TypeError) as e:
            raise ValueError(str(e)) from None

    def shape(self, schema: WriterSchema) -> Parts:
        """See `SchemaFormat.shape`: docs, notes and the way names are written make no difference."""
        return _avro(json.loads(schema.text), "", "")


def _with_aliases(
    writers: tuple[WriterSchema, ...], renames: Iterable[tuple[str, str]]
) -> tuple[WriterSchema, ...]:
    """The writers, the last of which, as the reader, knows its fields by their former names, too."""
    if not renames:
        return writers
    *older, newest = writers
    schema = json.loads(newest.text)
    for was, now in renames:
        *parents, old = was.split(".")
        for field in _fields(schema, parents):
            if field["name"] == now:
                field["aliases"] = [*field.get("aliases", ()), old]
    return (*older, replace(newest, text=json.dumps(schema)))


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


def _avro(schema: Any, path: str, namespace: str) -> Parts:
    if isinstance(schema, list):
        yield path, [_branch(branch, namespace) for branch in schema]
        for i, branch in enumerate(schema):
            yield from _avro(branch, f"{path}[{i}]", namespace)
    elif isinstance(schema, str):
        yield path, _full(schema, namespace)
    elif isinstance(schema["type"], dict | list):
        yield from _avro(schema["type"], path, namespace)
    else:
        yield from _node(schema, path, namespace)


def _branch(schema: Any, namespace: str) -> str:
    if isinstance(schema, dict):
        return _full(schema.get("name", str(schema["type"])), schema.get("namespace", namespace))
    return _full(schema, namespace)


def _node(schema: dict[str, Any], path: str, namespace: str) -> Parts:
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
            yield from _avro(schema[inner], f"{path}.{inner}", namespace)
    for place, field in enumerate(schema.get("fields", ())):
        at = f"{path}.{field['name']}".lstrip(".")
        yield f"{at} (position)", place
        yield from _shape(field, at, " (field)")
        yield from _avro(field["type"], at, namespace)


def _shape(schema: dict[str, Any], path: str, kind: str = "") -> Parts:
    return ((f"{path} {key}{kind}", schema[key]) for key in _SHAPE if key in schema)


def _full(name: str, namespace: str) -> str:
    simple = "." in name or not namespace or name in _PRIMITIVE
    return name if simple else f"{namespace}.{name}"
