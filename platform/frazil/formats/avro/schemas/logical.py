"""Avro schema to logical schema.

Rules: Confluent's `AvroToLogicalTypeConverter`, but for time-of-day, which becomes a bigint of microseconds:
Spark cannot even load an Iceberg table with a `time` column ("Spark does not support time fields").
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import partial
from itertools import zip_longest
from typing import Any

from frazil.errors import SchemaRefusedError
from frazil.formats.avro.schemas.parser import parse_avro
from frazil.formats.batches.zoned import ZONED
from frazil.formats.columns.unmappable import REFUSED, Unmappable, plain, too_many_digits
from frazil.formats.logical import (
    JSON_TEXT,
    MAX_DIGITS,
    VARIANT_NEEDS_V3,
    Field,
    Fixed,
    List,
    Map,
    Primitive,
    Struct,
    Type,
    branch_name,
)
from frazil.formats.paths import member_path
from frazil.formats.protocol import Mapping, decimal_type, doc_text

_PLAIN = {
    "boolean": Primitive("boolean"), "int": Primitive("int"), "long": Primitive("long"),
    "float": Primitive("float"), "double": Primitive("double"), "string": Primitive("string"),
    "bytes": Primitive("binary"), "enum": Primitive("string"),
}  # fmt: skip
_LOGICAL = {
    ("int", "date"): Primitive("date"),
    ("int", "time-millis"): Primitive("long"),
    ("long", "time-micros"): Primitive("long"),
    ("long", "timestamp-millis"): Primitive("timestamptz"),
    ("long", "timestamp-micros"): Primitive("timestamptz"),
    ("long", "local-timestamp-millis"): Primitive("timestamp"),
    ("long", "local-timestamp-micros"): Primitive("timestamp"),
    ("string", ZONED): Primitive("timestamptz"),
}

_NESTED = frozenset({"record", "array", "map", "null"})

_MAP_ENTRY = "io.confluent.connect.avro.MapEntry"


def avro_to_logical(
    text: str, subject: str, dependencies: Iterable[tuple[str, str]] = (), root: str = "value"
) -> Struct:
    """The columns that records of this schema become; `root` names the only one where it is no record."""
    return avro_columns(parse_avro(text, subject, dependencies, root), subject)


def avro_columns(tree: dict[str, Any], subject: str, unmappable: Unmappable = REFUSED) -> Struct:
    """As `avro_to_logical`, from the tree that `parse_avro` gives."""
    columns = AvroColumns(subject, unmappable)
    with columns.schema("Avro"):
        return columns.record(tree, "")


def scalar_column(node: dict[str, Any]) -> Type | None:
    """What a value without parts becomes; None where it has parts, or where no column holds it."""
    if node["type"] in _NESTED:
        return None
    try:
        return AvroColumns("").scalar(node, "")
    except SchemaRefusedError:
        return None


def is_entries(array: dict[str, Any]) -> bool:
    """Whether an array is a map in disguise: Avro's own have keys of text only."""
    items = array["items"]
    if isinstance(items, list) or items["type"] != "record":
        return False
    marked = array.get("logicalType") == "map" or items.get("connect.internal.type") == "MapEntry"
    return marked or items["name"] == _MAP_ENTRY


class AvroColumns(Mapping):
    """One walk over one tree."""

    def type_of(self, node: Any, path: str, hints: Any = ()) -> Type:
        """What a type becomes at a path; `hints` name the branches of a union."""
        with self.schema("Avro"):
            return self._type(node, path, hints)[0]

    def record(self, node: dict[str, Any], path: str) -> Struct:
        """What a record at a path becomes."""
        if node.get("logicalType") == "variant" or node["name"] == "confluent.type.Variant":
            raise self.refusal(path, VARIANT_NEEDS_V3, "Write the value as text or as a map.")
        return self._struct((self._field(f, path) for f in node["fields"]), path)

    def _struct(self, fields: Iterable[Field], path: str) -> Struct:
        columns = tuple(fields)
        self.check_names([f.name for f in columns], path, "a record")
        return Struct(columns)

    def _field(self, field: dict[str, Any], path: str) -> Field:
        where = member_path(path, field["name"])
        self.count(where)
        kind, optional = self._type(field["type"], where, field.get("confluent:union") or ())
        defaulted = field.get("default") is not None
        doc = self.commented(where, doc_text(field.get("doc")))
        return Field(field["name"], kind, optional, doc, defaulted)

    def _type(self, node: Any, path: str, hints: Any) -> tuple[Type, bool]:
        if not isinstance(node, list):
            return self._one(node, path, hints), False
        real = [b for b in node if b["type"] != "null"]
        optional = len(real) < len(node)
        if not real:
            raise self.refusal(path, "a union of null alone has no column type", "Take the field out.")
        if len(real) == 1:
            return self._one(real[0], path, hints), optional
        return self._union(real, path, hints), optional

    def _union(self, branches: list[dict[str, Any]], path: str, hints: Any) -> Struct:
        names = branch_names(branches, hints)
        pairs = zip(names, branches, strict=True)
        return self._struct((Field(n, self._one(b, member_path(path, n), ()), True) for n, b in pairs), path)

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
                raise self.refusal(path, "type 'null' has no column type", "Take the field out.")
            case _:
                return self.scalar(node, path)

    def scalar(self, node: dict[str, Any], path: str) -> Type:
        """What a value without parts becomes."""
        kind, logical = node["type"], node.get("logicalType", "")
        if "json" in node:
            return self._text(node, path)
        if logical in ("timestamp-nanos", "local-timestamp-nanos"):
            why = f"{logical} has no column type: Spark keeps microseconds"
            raise self.refusal(path, why, f"Use {logical.replace('nanos', 'micros')}, or a plain long.")
        if self._unmappable.digits and is_wide(node):
            raise self.refusal(path, too_many_digits(node["precision"]), "Declare fewer digits.")
        if logical == "decimal" and kind in ("bytes", "fixed"):
            return decimal_type(node["precision"], node["scale"], partial(self.refusal, path))
        if kind == "fixed":
            return Fixed(node["size"])
        return _LOGICAL.get((kind, logical), _PLAIN[kind])

    def _text(self, node: dict[str, Any], path: str) -> Type:
        """What stands for a type that no column holds."""
        digits = self._unmappable.digits and is_wide(node["json"])
        if path and not digits and not self._unmappable.takes(path):
            raise self.refusal(path, node["why"], "Bound the depth in the schema.")
        self._texts[plain(path)] = node["why"]
        return JSON_TEXT

    def _entries(self, array: dict[str, Any], path: str, hints: Any) -> Map:
        parts = {f["name"]: f["type"] for f in array["items"]["fields"]}
        if parts.keys() != {"key", "value"}:
            raise self.refusal(path, "a map's entries must be of key and value", "Fix the entries.")
        key, _ = self._type(parts["key"], f"{path}.key", hints)
        if _has_map(key):
            raise self.refusal(f"{path}.key", "a map can't be the key of a map", "Use a list of records.")
        return self._map(key, array, parts["value"], path, hints)

    def _map(self, key: Type, node: dict[str, Any], values: Any, path: str, hints: Any) -> Map:
        value, optional = self._type(values, f"{path}{{}}", hints)
        if node.get("flink.type") == "multiset" and value != Primitive("int"):
            raise self.refusal(path, "a multiset counts in int", "Fix the type of its values.")
        return Map(key, value, optional)


def is_wide(node: Any) -> bool:
    """Whether a type is a decimal of more digits than columns have."""
    return (
        isinstance(node, dict)
        and node["type"] in ("bytes", "fixed")
        and node.get("logicalType") == "decimal"
        and node["precision"] > MAX_DIGITS
    )


def branch_names(branches: list[dict[str, Any]], hints: Any) -> list[str]:
    """A union's branches by given name, else by simple name, else by full name; see `branch_name`."""
    full = [b.get("name", b["type"]) for b in branches]
    simple = [name.rpartition(".")[2] for name in full]
    count = Counter(simple)
    names = [s if count[s] == 1 else f for s, f in zip(simple, full, strict=True)]
    return [branch_name(_given(h) or n) for h, n in zip_longest(list(hints)[: len(names)], names)]


def _given(hint: Any) -> str | None:
    name = hint.get("name") if isinstance(hint, dict) else None
    return name if isinstance(name, str) and re.fullmatch(r"[A-Za-z_][\w.-]*", name) else None


def _has_map(kind: Type) -> bool:
    return isinstance(kind, Map) or any(_has_map(f.type) for f in kind.fields)
