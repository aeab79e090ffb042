"""Avro schema to logical schema. Rules: Confluent's `AvroToLogicalTypeConverter`, but for time-of-day.

Time-of-day becomes a bigint of microseconds: Spark cannot even load an Iceberg table with a `time`
column ("Spark does not support time fields"). `from_avro` gives time-millis as bare milliseconds, so
that one is refused until a decoder converts it.
"""

from __future__ import annotations

import json
from typing import Any

from frazil.errors import SchemaRefusedError
from frazil.schemas.logical import Decimal, Field, Fixed, List, Map, Primitive, Struct, Type

__all__ = ["avro_to_logical"]

_PLAIN = {
    "boolean": Primitive("boolean"),
    "int": Primitive("int"),
    "long": Primitive("long"),
    "float": Primitive("float"),
    "double": Primitive("double"),
    "string": Primitive("string"),
    "bytes": Primitive("binary"),
}
_LOGICAL = {
    ("int", "date"): Primitive("date"),
    ("long", "time-micros"): Primitive("long"),
    ("long", "timestamp-millis"): Primitive("timestamptz"),
    ("long", "timestamp-micros"): Primitive("timestamptz"),
    ("long", "local-timestamp-millis"): Primitive("timestamp"),
    ("long", "local-timestamp-micros"): Primitive("timestamp"),
}
_MAX_DEPTH = 64


def avro_to_logical(text: str, subject: str) -> Struct:
    """The columns that records of this schema become.

    Args:
        text: The schema as the registry gives it.
        subject: Named in errors.

    Raises:
        SchemaRefusedError: The schema has something that no column can hold; the text names the field.
    """
    schema = json.loads(text)
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise _refused(subject, "(root)", "the value is no record", "Wrap it in a record.")
    return _Converter(subject).record(schema, path="", depth=0)


class _Converter:
    """One walk over one schema; remembers named types, knows which are open (recursion)."""

    def __init__(self, subject: str) -> None:
        self._subject = subject
        self._named: dict[str, dict[str, Any]] = {}
        self._open: set[str] = set()

    def record(self, schema: dict[str, Any], path: str, depth: int) -> Struct:
        name = self._remember(schema)
        if name in self._open or depth > _MAX_DEPTH:
            raise self._no(path, f"record {name} contains itself", "Bound the depth in the schema.")
        self._open.add(name)
        fields = tuple(self._field(f, path, depth) for f in schema["fields"])
        self._open.remove(name)
        self._check_names(fields, path)
        return Struct(fields)

    def _field(self, field: dict[str, Any], path: str, depth: int) -> Field:
        where = f"{path}.{field['name']}".lstrip(".")
        kind, optional = self._type(field["type"], where, depth + 1)
        defaulted = isinstance(kind, List | Map) and "default" in field
        return Field(field["name"], kind, optional, field.get("doc", ""), defaulted)

    def _type(self, schema: Any, path: str, depth: int) -> tuple[Type, bool]:
        if isinstance(schema, list):
            return self._union(schema, path, depth)
        if isinstance(schema, str):
            schema = self._named.get(schema) or self._named.get(schema.rsplit(".", 1)[-1]) or schema
        if isinstance(schema, str):
            return self._plain(schema, path), False
        return self._complex(schema, path, depth), False

    def _complex(self, schema: dict[str, Any], path: str, depth: int) -> Type:
        match schema["type"]:
            case "record" | "error":
                return self.record(schema, path, depth)
            case "enum":
                self._remember(schema)
                return Primitive("string")
            case "fixed":
                self._remember(schema)
                return self._decimal(schema, path) or Fixed(schema["size"])
            case "array":
                element, optional = self._type(schema["items"], f"{path}[]", depth + 1)
                return List(element, optional)
            case "map":
                value, optional = self._type(schema["values"], f"{path}{{}}", depth + 1)
                return Map(Primitive("string"), value, optional)
            case "int" if schema.get("logicalType") == "time-millis":
                raise self._no(path, "time-millis would lose its unit", "Use time-micros.")
            case str() as plain if plain in _PLAIN:
                known = _LOGICAL.get((plain, schema.get("logicalType", "")))
                return known or self._decimal(schema, path) or _PLAIN[plain]
            case other:
                return self._type(other, path, depth)[0]

    def _union(self, branches: list[Any], path: str, depth: int) -> tuple[Type, bool]:
        real = [b for b in branches if b != "null"]
        if len(real) != 1:
            raise self._no(
                path,
                f"a union of {len(real)} types has no column type",
                "Use one type, or null and one.",
            )
        return self._type(real[0], path, depth)[0], len(real) < len(branches)

    def _decimal(self, schema: dict[str, Any], path: str) -> Decimal | None:
        if schema.get("logicalType") != "decimal":
            return None
        precision, scale = schema.get("precision", 10), schema.get("scale", 0)
        if not 1 <= precision <= 38 or not 0 <= scale <= precision:
            raise self._no(path, f"decimal({precision},{scale}) is out of range", "Use 1..38 digits.")
        return Decimal(precision, scale)

    def _plain(self, name: str, path: str) -> Type:
        if name not in _PLAIN:
            raise self._no(path, f"type {name!r} has no column type", "Take the field out.")
        return _PLAIN[name]

    def _remember(self, schema: dict[str, Any]) -> str:
        name: str = schema["name"]
        full = name if "." in name else f"{schema.get('namespace', '')}.{name}".lstrip(".")
        self._named[full] = self._named[name.rsplit(".", 1)[-1]] = schema
        return full

    def _check_names(self, fields: tuple[Field, ...], path: str) -> None:
        if not fields:
            raise self._no(path or "(root)", "a record without fields has no column type", "Add one.")
        seen: dict[str, str] = {}
        for f in fields:
            if twin := seen.get(f.name.lower()):
                raise self._no(path, f"{twin} and {f.name} differ by case only", "Rename one of them.")
            seen[f.name.lower()] = f.name

    def _no(self, path: str, why: str, todo: str) -> SchemaRefusedError:
        return _refused(self._subject, path, why, todo)


def _refused(subject: str, path: str, why: str, todo: str) -> SchemaRefusedError:
    return SchemaRefusedError(
        f"The schema can't become a table: {why}.",
        where=f"subject {subject}, field {path}",
        meaning="Nothing was landed.",
        todo=todo,
    )
