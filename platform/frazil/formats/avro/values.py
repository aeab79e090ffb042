"""Schemas under which Spark's `from_avro` reads no damaged value as a good one, and SQL to the table's types.

Spark keeps the low 64 bits of a decimal of at most 18 digits (2^64 + 5 in a decimal(9,2) lands as 0.05),
Java the low 32 bits of an int, and it takes every byte but 1 as false. So such decimals are read with 38
digits, ints as longs, booleans as the byte that they are; `conversion` turns them back, and checks them.

Where a cast does not suffice: unions come as `member0, member1...`, counted without null, and get their
branches' names; milliseconds of the day become microseconds; arrays of entries become maps. With it goes
what must hold so that no value is wrong: a time of day lies within it, say.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, cast

from frazil.formats.avro.pairs import is_lossy
from frazil.formats.avro.parser import children, most_digits
from frazil.formats.logical import MAX_DIGITS, Decimal, List, Map, Primitive, Struct, Type
from frazil.formats.types import spark_type
from frazil.formats.zoned import ZONED, moment
from frazil.quoting import literal, quoted

BOOLEAN = {"type": "fixed", "name": "frazil.boolean", "size": 1}
"""A boolean as its byte."""

INT = {"type": "long", "logicalType": "frazil-int"}
DATE = {"type": "long", "logicalType": "frazil-date"}
"""An int or a date read as a long: Avro writes both alike."""

_NOTES = ("default", "aliases", "doc")
_LONG_DIGITS, _LONG_BYTES = 18, 8

DAY = {"time-millis": 86_400_000, "time-micros": 86_400_000_000}
"""The end of a day, by what is counted; PostgreSQL's `time` and Protobuf's TimeOfDay have 24:00:00."""

_INTS = "BETWEEN -2147483648 AND 2147483647"


def exact_pair(writer: Any, reader: Any) -> tuple[Any, Any]:
    """A writer and its reader by `reader_for`, changed so that Spark reads no value unchecked."""
    wide = not (_mixes(writer) or _mixes(reader))
    return _Exact(wide, defaults=False).tree(writer), _Exact(wide, defaults=True).tree(reader)


@dataclass(frozen=True, slots=True)
class _Exact:
    """One walk. If `wide`, ints become longs; if `defaults`, missing fields keep default and type."""

    wide: bool
    defaults: bool

    def tree(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self.tree(b) for b in node]
        match node["type"]:
            case "boolean":
                return BOOLEAN
            case "int" if self.wide:
                return _wide(node)
            case "record":
                return {**node, "fields": [self._field(f) for f in node["fields"]]}
            case "array":
                return {**node, "items": self.tree(node["items"])}
            case "map":
                return {**node, "values": self.tree(node["values"])}
            case _ if node.get("logicalType") == "decimal":
                return {**node, "precision": digits_read(node)}
            case _:
                return node

    def _field(self, field: dict[str, Any]) -> dict[str, Any]:
        if "default" in field and self.defaults:
            # Null is the same of any type: then all versions of a schema are read alike.
            return {**field, "type": self.tree(field["type"])} if field["default"] is None else field
        kept = {k: v for k, v in field.items() if k != "default"}
        return {**kept, "type": self.tree(field["type"])}


def digits_read(decimal: dict[str, Any]) -> int:
    """Most digits with which a decimal is read: those that it declares, or more where Spark would cut it."""
    return min(MAX_DIGITS, most_digits(decimal) if _is_cut(decimal) else decimal["precision"])


def group_key(node: Any) -> str:
    """A key that is equal for trees which Spark reads as the same type and which are converted alike."""
    return json.dumps(_bare(node), sort_keys=True)


def _bare(node: Any) -> Any:
    if isinstance(node, list):
        return [_bare(b) for b in node]
    if isinstance(node, dict):
        return {k: _bare(v) for k, v in node.items() if k not in _NOTES}
    return node


def _wide(node: dict[str, Any]) -> dict[str, Any]:
    match node.get("logicalType"):
        case "date":
            return DATE
        case "time-millis":
            return {**node, "type": "long"}
        case _:
            return INT


def _mixes(node: Any) -> bool:
    both = isinstance(node, list) and {"int", "long"} <= {b["type"] for b in node}
    return both or any(map(_mixes, children(node)))


def _is_cut(decimal: dict[str, Any]) -> bool:
    short = decimal["precision"] <= _LONG_DIGITS
    return bool(short and decimal.get("size", _LONG_BYTES + 1) > _LONG_BYTES)


@dataclass(frozen=True, slots=True)
class Conversion:
    """SQL over a value as Spark decoded it."""

    value: str | None = None  # in the table's type; None where a cast is enough
    check: str | None = None  # whether nothing was lost; null for a null, None where nothing can be lost

    def __bool__(self) -> bool:
        return self.value is not None or self.check is not None


def conversion(node: Any, wanted: Type, x: str, depth: int = 0) -> Conversion:
    """How a decoded value, of the reader's type by `exact_pair`, becomes the table's value."""
    if isinstance(node, list):
        real = [b for b in node if b["type"] != "null"]
        return conversion(real[0], wanted, x, depth) if len(real) == 1 else _union(real, wanted, x, depth)
    match wanted:
        case Struct():
            parts = [(f.name, f.name, n["type"]) for f, n in zip(wanted, node["fields"], strict=True)]
            return _struct(parts, wanted, x, depth)
        case List():
            return _list(node["items"], wanted.element, x, depth)
        case Map() if node["type"] == "array":
            return _entries(node["items"], wanted, x, depth)
        case Map():
            return _map(node["values"], wanted.value, x, depth)
        case _:
            return _scalar(node, wanted, x)


def utf8_check(kind: Type, x: str, depth: int = 0) -> str | None:
    """SQL that is false where a text is not UTF-8, which Spark's Avro takes on trust; None without texts."""
    match kind:
        case Primitive("string"):
            return f"coalesce(is_valid_utf8({x}), true)"
        case Struct():
            return _all([utf8_check(f.type, f"{x}.{quoted(f.name)}", depth) for f in kind])
        case List():
            return _utf8_in_array(kind.element, x, depth)
        case Map():
            key = _utf8_in_array(kind.key, f"map_keys({x})", depth)
            return _all([key, _utf8_in_array(kind.value, f"map_values({x})", depth)])
        case _:
            return None


def _utf8_in_array(element: Type, x: str, depth: int) -> str | None:
    """Checks many texts at once where they can be joined: a lambda over each takes three times as long."""
    match element:
        case Primitive("string"):
            return f"coalesce(is_valid_utf8(array_join({x}, ',')), true)"
        case Struct():
            return _all([_utf8_in_array(f.type, f"{x}.{quoted(f.name)}", depth) for f in element])
        case _:
            return _for_all(x, utf8_check(element, f"e{depth}", depth + 1), depth)


def _scalar(node: dict[str, Any], wanted: Type, x: str) -> Conversion:
    if node == BOOLEAN and wanted == Primitive("boolean"):
        return Conversion(f"{x} = X'01'", f"coalesce({x} IN (X'00', X'01'), true)")
    if (most := DAY.get(node.get("logicalType", ""))) and wanted == Primitive("long"):
        value = f"try_cast({x} AS int) * 1000L" if node["logicalType"] == "time-millis" else None
        return Conversion(value, f"coalesce({x} BETWEEN 0 AND {most}, true)")
    if node.get("logicalType") == ZONED and wanted == Primitive("timestamptz"):
        return Conversion(moment(x), f"({x} IS NULL OR {moment(x)} IS NOT NULL)")
    if node == DATE and wanted == Primitive("date"):
        return Conversion(f"date_from_unix_date(try_cast({x} AS int))", f"coalesce({x} {_INTS}, true)")
    if isinstance(wanted, Decimal) and node.get("logicalType") == "decimal":
        narrow = f"try_cast({x} AS {spark_type(wanted)})"
        room = wanted.precision - wanted.scale
        fits = node["scale"] <= wanted.scale and node["precision"] - node["scale"] <= room
        return Conversion() if fits else Conversion(narrow, f"coalesce({narrow} = {x}, {x} IS NULL)")
    whole = "int" if node == INT or node["type"] == "int" else "bigint"
    if isinstance(wanted, Primitive) and is_lossy("int" if whole == "int" else node["type"], wanted.kind):
        back = f"try_cast(CAST({x} AS {wanted.kind}) AS {whole})"
        # Java takes 2^63 back to 2^63 - 1.
        return Conversion(None, f"coalesce({back} = {x} AND {x} < {2**63 - 1}, {x} IS NULL)")
    return Conversion(None, f"coalesce({x} {_INTS}, true)" if node == INT else None)


def _union(branches: list[Any], wanted: Type, x: str, depth: int) -> Conversion:
    fields = cast("Struct", wanted).fields
    parts = [(f.name, f"member{i}", b) for i, (f, b) in enumerate(zip(fields, branches, strict=True))]
    return _struct(parts, cast("Struct", wanted), x, depth, renamed=True)


def _struct(
    parts: list[tuple[str, str, Any]], wanted: Struct, x: str, depth: int, renamed: bool = False
) -> Conversion:
    found = [
        (name, f"{x}.{quoted(source)}", conversion(node, f.type, f"{x}.{quoted(source)}", depth))
        for (name, source, node), f in zip(parts, wanted, strict=True)
    ]
    check = _all([c.check for _, _, c in found])
    if not renamed and all(c.value is None for _, _, c in found):
        return Conversion(None, check)
    inner = ", ".join(f"{literal(name)}, {c.value or source}" for name, source, c in found)
    return Conversion(f"IF({x} IS NULL, NULL, named_struct({inner}))", check)


def _list(items: Any, element: Type, x: str, depth: int) -> Conversion:
    e = f"e{depth}"
    inner = conversion(items, element, e, depth + 1)
    value = f"transform({x}, {e} -> {inner.value})" if inner.value else None
    return Conversion(value, _for_all(x, inner.check, depth))


def _map(values: Any, value: Type, x: str, depth: int) -> Conversion:
    e = f"e{depth}"
    inner = conversion(values, value, e, depth + 1)
    changed = f"transform_values({x}, (k{depth}, {e}) -> {inner.value})" if inner.value else None
    return Conversion(changed, _for_all(f"map_values({x})", inner.check, depth))


def _entries(entry: dict[str, Any], wanted: Map, x: str, depth: int) -> Conversion:
    """Entries without a key are left out of the map, which can't have them, and fail the check."""
    e = f"e{depth}"
    types = {f["name"]: f["type"] for f in entry["fields"]}
    key = conversion(types["key"], wanted.key, f"{e}.key", depth + 1)
    value = conversion(types["value"], wanted.value, f"{e}.value", depth + 1)
    pairs = f"transform({x}, {e} -> struct({key.value or f'{e}.key'}, {value.value or f'{e}.value'}))"
    checks = _all([key.check, value.check])
    if isinstance(types["key"], list):
        pairs = pairs.replace(f"transform({x},", f"transform(filter({x}, {e} -> {e}.key IS NOT NULL),", 1)
        checks = _all([f"{e}.key IS NOT NULL", checks])
    return Conversion(f"map_from_entries({pairs})", _for_all(x, checks, depth))


def _all(checks: list[str | None]) -> str | None:
    return " AND ".join(f"({c})" for c in checks if c) or None


def _for_all(x: str, check: str | None, depth: int) -> str | None:
    return f"coalesce(forall({x}, e{depth} -> {check}), true)" if check else None
