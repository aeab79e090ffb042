"""What two schemas of one format do not share, by path; nothing where both describe the same records."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from frazil.formats.protobuf.descriptors import compiled, file_of
from frazil.formats.registry import WriterSchema

__all__ = ["avro_differences", "differences", "json_differences"]

T = TypeVar("T")

Parts = Iterator[tuple[str, Any]]
"""Everything that gives records their shape, by path."""

_SHAPE = ("symbols", "size", "logicalType", "precision", "scale", "default", "aliases", "order")
"""What else than type and name makes two Avro schemas differ; texts and other systems' notes do not."""

_PRIMITIVE = frozenset(
    {"null", "boolean", "int", "long", "float", "double", "bytes", "string", "array", "map"}
)

_NOTES = frozenset({"$schema", "$id", "$comment", "description", "examples"})
"""Keywords of JSON Schema that say nothing about a record's shape."""

_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keywords below which stand the author's own names, whatever they look like."""

_FILE = frozenset({"name", "options"})
"""What a Protobuf file says of itself: its name, and options for generators of code."""


def differences(registered: WriterSchema, wanted: str) -> list[str]:
    """What a version of a subject and a wanted schema of the same format do not share.

    Raises:
        SchemaRefusedError: protoc refuses one of the two.
    """
    match registered.kind:
        case "AVRO":
            return avro_differences(registered.text, wanted)
        case "JSON":
            return json_differences(registered.text, wanted)
        case _:
            return _compared(registered, replace(registered, text=wanted), _protobuf)


def avro_differences(registered: str, wanted: str) -> list[str]:
    """Likewise for Avro: docs, notes and the way names are written make no difference."""
    return _compared(registered, wanted, lambda text: _avro(json.loads(text), "", ""))


def json_differences(registered: str, wanted: str) -> list[str]:
    """Likewise for JSON Schema: docs and the order of keywords make no difference."""
    return _compared(registered, wanted, lambda text: _json(json.loads(text), ""))


def _compared(registered: T, wanted: T, parts: Callable[[T], Parts]) -> list[str]:
    one, two = ({p: json.dumps(v) for p, v in parts(schema)} for schema in (registered, wanted))
    paths = [p for p in {**one, **two} if one.get(p) != two.get(p)]
    return [
        f"{p or '(root)'}: {one.get(p, 'not')} in the registry, {two.get(p, 'not')} wanted" for p in paths
    ]


def _protobuf(schema: WriterSchema) -> Parts:
    """Of the compiled file, so that comments and layout make no difference."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.json_format import MessageToDict

    file = FileDescriptorProto()
    file_of(compiled(schema, "of the pipeline")).CopyToProto(file)
    parts = MessageToDict(file, preserving_proto_field_name=True)
    return _descriptor({word: part for word, part in parts.items() if word not in _FILE}, "")


def _descriptor(node: Any, path: str) -> Parts:
    match node:
        case dict():
            for word, part in node.items():
                yield from _descriptor(part, f"{path}.{word}".lstrip("."))
        case [{}, *_]:
            for place, part in enumerate(node):
                at = f"{path}.{part.get('name', place)}"
                yield f"{at} (position)", place
                yield from _descriptor(part, at)
        case _:
            yield path, node


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
