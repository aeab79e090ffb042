"""Avro schema to logical schema. Rules: Confluent's `AvroToLogicalTypeConverter`, but for time-of-day.

Time-of-day becomes a bigint of microseconds: Spark cannot even load an Iceberg table with a `time`
column ("Spark does not support time fields").
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import zip_longest
from typing import Any

from frazil.errors import SchemaRefusedError
from frazil.formats.avro.parser import parse_avro, refused
from frazil.formats.logical import Decimal, Field, Fixed, List, Map, Primitive, Struct, Type

__all__ = ["avro_columns", "avro_to_logical", "is_entries"]

_PLAIN = {
    "boolean": Primitive("boolean"),
    "int": Primitive("int"),
    "long": Primitive("long"),
    "float": Primitive("float"),
    "double": Primitive("double"),
    "string": Primitive("string"),
    "bytes": Primitive("binary"),
    "enum": Primitive("string"),
}
_LOGICAL = {
    ("int", "date"): Primitive("date"),
    ("int", "time-millis"): Primitive("long"),
    ("long", "time-micros"): Primitive("long"),
    ("long", "timestamp-millis"): Primitive("timestamptz"),
    ("long", "timestamp-micros"): Primitive("timestamptz"),
    ("long", "local-timestamp-millis"): Primitive("timestamp"),
    ("long", "local-timestamp-micros"): Primitive("timestamp"),
}
_MAP_ENTRY = "io.confluent.connect.avro.MapEntry"


def avro_to_logical(
    text: str, subject: str, dependencies: Iterable[tuple[str, str]] = (), root: str = "value"
) -> Struct:
    """The columns that records of this schema become.

    Args:
        text: The schema as the registry gives it.
        subject: Named in errors.
        dependencies: Schemas that it refers to, by name, deepest first.
        root: Names the only column where the schema is no record.

    Raises:
        SchemaRefusedError: The schema has something that no column can hold; the text names the field.
    """
    return avro_columns(parse_avro(text, subject, dependencies, root), subject)


def avro_columns(tree: dict[str, Any], subject: str) -> Struct:
    """As `avro_to_logical`, from the tree that `parse_avro` gives."""
    return _Converter(subject).record(tree, "")


def is_entries(array: dict[str, Any]) -> bool:
    """Whether an array is a map in disguise: Avro's own have keys of text only."""
    items = array["items"]
    if isinstance(items, list) or items["type"] != "record":
        return False
    marked = array.get("logicalType") == "map" or items.get("connect.internal.type") == "MapEntry"
    return marked or items["name"] == _MAP_ENTRY


class _Converter:
    """One walk over one tree."""

    def __init__(self, subject: str) -> None:
        self._subject = subject

    def record(self, node: dict[str, Any], path: str) -> Struct:
        if node.get("logicalType") == "variant" or node["name"] == "confluent.type.Variant":
            why = "a variant needs format version 3 of Iceberg, tables here have 2"
            raise self._no(path, why, "Write the value as text or as a map.")
        return self._struct((self._field(f, path) for f in node["fields"]), path)

    def _struct(self, fields: Iterable[Field], path: str) -> Struct:
        found = tuple(fields)
        if not found:
            raise self._no(path, "a record without fields has no column type", "Add one.")
        seen: dict[str, str] = {}
        for f in found:
            if twin := seen.get(f.name.lower()):
                raise self._no(path, f"{twin} and {f.name} differ by case only", "Rename one of them.")
            seen[f.name.lower()] = f.name
        return Struct(found)

    def _field(self, field: dict[str, Any], path: str) -> Field:
        where = f"{path}.{field['name']}".lstrip(".")
        kind, optional = self._type(field["type"], where, field.get("confluent:union") or ())
        return Field(field["name"], kind, optional, field.get("doc", ""))

    def _type(self, node: Any, path: str, hints: Any) -> tuple[Type, bool]:
        if not isinstance(node, list):
            return self._one(node, path, hints), False
        real = [b for b in node if b["type"] != "null"]
        optional = len(real) < len(node)
        if not real:
            raise self._no(path, "a union of null alone has no column type", "Take the field out.")
        if len(real) == 1:
            return self._one(real[0], path, hints), optional
        return self._union(real, path, hints), optional

    def _union(self, branches: list[dict[str, Any]], path: str, hints: Any) -> Struct:
        names = _branch_names(branches, hints)
        pairs = zip(names, branches, strict=True)
        return self._struct((Field(n, self._one(b, f"{path}.{n}", ()), True) for n, b in pairs), path)

    def _one(self, node: dict[str, Any], path: str, hints: Any) -> Type:
        match node["type"]:
            case "record":
                return self.record(node, path)
            case "array" if is_entries(node):
                return self._entries(node, path, hints)
            case "array":
                return List(*self._type(node["items"], f"{path}[]", hints))
            case "map":
                return self._map(Primitive("string"), node, node["values"], path, hints)
            case "null":
                raise self._no(path, "type 'null' has no column type", "Take the field out.")
            case _:
                return self._scalar(node, path)

    def _scalar(self, node: dict[str, Any], path: str) -> Type:
        kind, logical = node["type"], node.get("logicalType", "")
        if logical in ("timestamp-nanos", "local-timestamp-nanos"):
            why = f"{logical} has no column type: Spark keeps microseconds"
            raise self._no(path, why, f"Use {logical.replace('nanos', 'micros')}, or a plain long.")
        if logical == "decimal" and kind in ("bytes", "fixed"):
            return self._decimal(node["precision"], node["scale"], path)
        if kind == "fixed":
            return Fixed(node["size"])
        return _LOGICAL.get((kind, logical), _PLAIN[kind])

    def _decimal(self, precision: int, scale: int, path: str) -> Decimal:
        if not 1 <= precision <= 38 or not 0 <= scale <= precision:
            raise self._no(path, f"decimal({precision},{scale}) is out of range", "Use 1..38 digits.")
        return Decimal(precision, scale)

    def _entries(self, array: dict[str, Any], path: str, hints: Any) -> Map:
        parts = {f["name"]: f["type"] for f in array["items"]["fields"]}
        if parts.keys() != {"key", "value"}:
            raise self._no(path, "a map's entries must be of key and value", "Mend the entries.")
        key, _ = self._type(parts["key"], f"{path}.key", hints)
        if _has_map(key):
            raise self._no(f"{path}.key", "a map can't be the key of a map", "Use a list of records.")
        return self._map(key, array, parts["value"], path, hints)

    def _map(self, key: Type, node: dict[str, Any], values: Any, path: str, hints: Any) -> Map:
        value, optional = self._type(values, f"{path}{{}}", hints)
        if node.get("flink.type") == "multiset" and value != Primitive("int"):
            raise self._no(path, "a multiset counts in int", "Mend the type of its values.")
        return Map(key, value, optional)

    def _no(self, path: str, why: str, todo: str) -> SchemaRefusedError:
        return refused(self._subject, path, why, todo)


def _branch_names(branches: list[dict[str, Any]], hints: Any) -> list[str]:
    """A union's branches by given name, else by simple name, else by full name."""
    full = [b.get("name", b["type"]) for b in branches]
    simple = [name.rpartition(".")[2] for name in full]
    count = Counter(simple)
    names = [s if count[s] == 1 else f for s, f in zip(simple, full, strict=True)]
    return [_given(h) or n for h, n in zip_longest(list(hints)[: len(names)], names)]


def _given(hint: Any) -> str | None:
    name = hint.get("name") if isinstance(hint, dict) else None
    return name if isinstance(name, str) and re.fullmatch(r"[A-Za-z_][\w.-]*", name) else None


def _has_map(kind: Type) -> bool:
    match kind:
        case Map():
            return True
        case List():
            return _has_map(kind.element)
        case Struct():
            return any(_has_map(f.type) for f in kind)
        case _:
            return False
