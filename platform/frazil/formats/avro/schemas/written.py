"""Avro schemas of the records that Frazil itself writes, and the values of these."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from frazil.errors import SpecError
from frazil.formats.logical import (
    Decimal,
    Field,
    List,
    Map,
    Primitive,
    Struct,
    Type,
)

_WRITTEN: dict[str, Any] = {
    "boolean": "boolean", "int": "int", "long": "long", "float": "float", "double": "double",
    "string": "string", "binary": "bytes", "uuid": "string",
    "date": {"type": "int", "logicalType": "date"},
    "timestamp": {"type": "long", "logicalType": "local-timestamp-micros"},
    "timestamptz": {"type": "long", "logicalType": "timestamp-micros"},
}  # fmt: skip
"""Avro's type of what Frazil writes, by the logical type."""


def avro_record(fields: Struct, name: str, namespace: str) -> dict[str, Any]:
    """A record's schema; a record within it is named after it and the field that holds it."""
    return {
        **_own_record(fields, avro_name(name)),
        "namespace": ".".join(map(avro_name, namespace.split("."))),
    }


def avro_name(name: str) -> str:
    """The name as Avro takes it: letters, digits and underscores."""
    return re.sub(r"^(?=\d)|[^A-Za-z0-9_]", "_", name)


def avro_value(kind: Type) -> Callable[[Any], Any]:
    """A function from Arrow's values to those that an Avro writer takes."""
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


def _own_record(fields: Struct, name: str) -> dict[str, Any]:
    names = [avro_name(f.name) for f in fields]
    if twins := sorted({n for n in names if names.count(n) > 1}):
        raise SpecError(
            f"Two columns become the Avro field {', '.join(twins)}.",
            meaning="Avro's names have letters, digits and underscores only.",
            todo="Give one of the columns another name in the query.",
        )
    return {"type": "record", "name": name, "fields": [_own_field(f, name) for f in fields]}


def _own_field(field: Field, within: str) -> dict[str, Any]:
    name = avro_name(field.name)
    kind = _own_type(field.type, f"{within}_{name}")
    notes = {"doc": field.doc} if field.doc else {}
    if not field.optional:
        return {"name": name, "type": kind, **notes}
    return {"name": name, "type": ["null", kind], "default": None, **notes}


def _own_type(kind: Type, name: str) -> Any:
    match kind:
        case Struct():
            return _own_record(kind, name)
        case List():
            return {"type": "array", "items": _maybe(kind.element, name, kind.element_optional)}
        case Map() if _has_text_keys(kind):
            return {"type": "map", "values": _maybe(kind.value, name, kind.value_optional)}
        case Map():
            entry = Struct((Field("key", kind.key), Field("value", kind.value, kind.value_optional)))
            return {"type": "array", "logicalType": "map", "items": _own_record(entry, name)}
        case Decimal():
            return {
                "type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale,
            }  # fmt: skip
        case Primitive():
            return _WRITTEN[kind.kind]
        case _:
            return "bytes"


def _maybe(kind: Type, name: str, optional: bool) -> Any:
    return ["null", _own_type(kind, name)] if optional else _own_type(kind, name)


def _has_text_keys(kind: Map) -> bool:
    return kind.key == Primitive("string")
