"""Logical schema to Avro's, for records that Frazil itself writes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from frazil.errors import SpecError
from frazil.formats.logical import Decimal, Field, List, Map, Primitive, Struct, Type

__all__ = ["avro_name", "avro_record", "avro_value"]

_PRIMITIVES: dict[str, Any] = {
    "boolean": "boolean", "int": "int", "long": "long", "float": "float", "double": "double",
    "string": "string", "binary": "bytes", "uuid": "string",
    "date": {"type": "int", "logicalType": "date"},
    "timestamp": {"type": "long", "logicalType": "local-timestamp-micros"},
    "timestamptz": {"type": "long", "logicalType": "timestamp-micros"},
}  # fmt: skip


def avro_record(fields: Struct, name: str, namespace: str) -> dict[str, Any]:
    """A record's schema.

    Args:
        fields: The columns.
        name: The record's name; records within get it, too, with their place behind it.
        namespace: Of all of them.

    Raises:
        SpecError: Two columns have the same name in Avro.
    """
    return {**_record(fields, avro_name(name)), "namespace": ".".join(map(avro_name, namespace.split(".")))}


def avro_name(name: str) -> str:
    """The name as Avro takes it: letters, digits and underscores."""
    return re.sub(r"^(?=\d)|[^A-Za-z0-9_]", "_", name)


def avro_value(kind: Type) -> Callable[[Any], Any]:
    """What makes of a value, as Arrow gives it, one that an Avro writer takes."""
    match kind:
        case Struct():
            parts = [(f.name, avro_name(f.name), avro_value(f.type)) for f in kind]
            return _or_none(lambda v: {to: make(v[name]) for name, to, make in parts})
        case List():
            element = avro_value(kind.element)
            return _or_none(lambda v: [element(e) for e in v])
        case Map():
            key, value = avro_value(kind.key), avro_value(kind.value)
            if _has_text_keys(kind):
                return _or_none(lambda v: {k: value(e) for k, e in v})
            return _or_none(lambda v: [{"key": key(k), "value": value(e)} for k, e in v])
        case _:
            return lambda v: v


def _or_none(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda v: None if v is None else make(v)


def _record(fields: Struct, name: str) -> dict[str, Any]:
    names = [avro_name(f.name) for f in fields]
    if twins := sorted({n for n in names if names.count(n) > 1}):
        raise SpecError(
            f"Two columns become the Avro field {', '.join(twins)}.",
            meaning="Avro's names have letters, digits and underscores only.",
            todo="Give one of the columns another name in the query.",
        )
    return {"type": "record", "name": name, "fields": [_field(f, name) for f in fields]}


def _field(field: Field, within: str) -> dict[str, Any]:
    name = avro_name(field.name)
    kind = _type(field.type, f"{within}_{name}")
    told = {"doc": field.doc} if field.doc else {}
    if not field.optional:
        return {"name": name, "type": kind, **told}
    return {"name": name, "type": ["null", kind], "default": None, **told}


def _type(kind: Type, name: str) -> Any:
    match kind:
        case Struct():
            return _record(kind, name)
        case List():
            return {"type": "array", "items": _maybe(kind.element, name, kind.element_optional)}
        case Map() if _has_text_keys(kind):
            return {"type": "map", "values": _maybe(kind.value, name, kind.value_optional)}
        case Map():
            entry = Struct((Field("key", kind.key), Field("value", kind.value, kind.value_optional)))
            return {"type": "array", "logicalType": "map", "items": _record(entry, name)}
        case Decimal():
            return {
                "type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale,
            }  # fmt: skip
        case Primitive():
            return _PRIMITIVES[kind.kind]
        case _:
            return "bytes"


def _maybe(kind: Type, name: str, optional: bool) -> Any:
    return ["null", _type(kind, name)] if optional else _type(kind, name)


def _has_text_keys(kind: Map) -> bool:
    return kind.key == Primitive("string")
