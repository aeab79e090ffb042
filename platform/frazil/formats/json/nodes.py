"""What a JSON Schema says of a value: the column it becomes, and how it stands in the text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from frazil.formats.batches.zoned import ZONED
from frazil.formats.logical import (
    JSON_TEXT,
    MAX_DIGITS,
    Decimal,
    Field,
    Fixed,
    List,
    Map,
    Primitive,
    Struct,
    Type,
)
from frazil.formats.protocol import Refuse, decimal_type

Wire = Literal[
    "boolean", "integer", "float", "double", "number", "string", "base64", "base64_number",
    "days", "time_millis", "millis", "local_millis", "local_micros", "zoned", "json",
    "digits", "base64_digits", "day", "local",
]  # fmt: skip
"""How a scalar is written; `number` is an exact one, `base64_number` Connect's bytes, `json` any value.

Of `digits` and `base64_digits` a text stands for the number. `zoned`, `local` and `day` are by ISO 8601."""

_CONNECT = "org.apache.kafka.connect.data."
MICROS = "frazil.MicroTimestamp"
"""Title that `formats.debezium` gives to microseconds without a zone, for which Connect has no name."""
_INTEGERS: dict[str, tuple[Primitive, tuple[int, int] | None]] = {
    "int8": (Primitive("int"), (-(2**7), 2**7 - 1)),
    "int16": (Primitive("int"), (-(2**15), 2**15 - 1)),
    "int32": (Primitive("int"), (-(2**31), 2**31 - 1)),
    "int64": (Primitive("long"), None),
}
_DAYS = (-(2**31), 2**31 - 1)  # what a date of Iceberg's holds, as in every format
_MICROS = (-(2**63), 2**63 - 1)
_MILLIS = (-((2**63 - 1) // 1000), (2**63 - 1) // 1000)


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value without parts: its column, and how the text writes it.

    `bounds` are the smallest and the greatest integer, `allowed` the values of an enumeration.
    """

    type: Primitive | Decimal | Fixed
    wire: Wire
    bounds: tuple[int, int] | None = None
    allowed: tuple[str | int | float | bool, ...] | None = None
    declared: tuple[int, int] = (0, 0)  # precision and scale of a decimal that is text


@dataclass(frozen=True, slots=True)
class Items:
    """An array."""

    element: Node
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Entries:
    """An object of any keys, whose values are alike."""

    value: Node
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Pairs:
    """A map as an array of objects with `key` and `value`."""

    key: Node
    value: Node
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Member:
    """A property of an object, or a branch of a union.

    `older` is the key that an older version's records have, where the column has another name today.
    """

    name: str
    node: Node
    optional: bool = False
    doc: str = field(default="", compare=False)
    older: str = ""

    @property
    def key(self) -> str:
        """What the text calls it."""
        return self.older or self.name


@dataclass(frozen=True, slots=True)
class Members:
    """An object of known keys."""

    members: tuple[Member, ...]

    def get(self, name: str) -> Member | None:
        """The member of that name, or None."""
        return next((m for m in self.members if m.name == name), None)


@dataclass(frozen=True, slots=True)
class Branches:
    """A value of one of several types: a struct in which one field is set."""

    members: tuple[Member, ...]


Node = Scalar | Items | Entries | Pairs | Members | Branches


TEXT = Scalar(JSON_TEXT, "json")
"""A value that no column holds: its text stands for it."""


def logical(node: Node) -> Type:
    """The type of the column that a value becomes."""
    match node:
        case Scalar():
            return node.type
        case Items():
            return List(logical(node.element), node.optional)
        case Entries():
            return Map(Primitive("string"), logical(node.value), node.optional)
        case Pairs():
            return Map(logical(node.key), logical(node.value), node.optional)
        case Members() | Branches():
            return Struct(tuple(Field(m.name, logical(m.node), m.optional, m.doc) for m in node.members))


def as_columns(node: Node, kind: Type, word: str) -> Struct:
    """A record's columns: an object's members; for any other root, one column named `word`."""
    if isinstance(node, Members) and isinstance(kind, Struct):
        return kind
    doc = "JSON text: its schema has no columns." if node == TEXT else ""
    return Struct((Field(word, kind, doc=doc),))


def scalar(kind: str, schema: dict[str, Any], refuse: Refuse, digits: bool = False) -> Scalar:
    """The node of a schema of type `boolean`, `integer`, `number` or `string`, by Connect's notes.

    `digits`: whether a decimal of more of them than columns have becomes text.
    """
    match kind:
        case "integer" | "number" | "string" if digits and _is_wide(kind, schema, refuse):
            wire: Wire = "base64_digits" if kind == "string" else "digits"
            return Scalar(JSON_TEXT, wire, declared=_declared(schema, refuse))
        case "boolean":
            return Scalar(Primitive("boolean"), "boolean", None, _allowed(schema))
        case "integer" | "number" if schema.get("connect.type") == "bytes":
            return Scalar(_decimal(schema, refuse), "number")
        case "integer" | "number":
            return _number(kind, schema, refuse)
        case "string" if schema.get("connect.type") == "bytes":
            return _bytes(schema, refuse)
        case "string" if schema.get("title") == ZONED:
            return Scalar(Primitive("timestamptz"), "zoned")
        case "string":
            return Scalar(Primitive("string"), "string", None, _allowed(schema))
        case _:
            raise refuse(f"{kind!r} is no type of JSON Schema", "Fix the schema.")


def _number(kind: str, schema: dict[str, Any], refuse: Refuse) -> Scalar:
    connect, title = schema.get("connect.type"), str(schema.get("title", "")).removeprefix(_CONNECT)
    allowed = _allowed(schema)
    match connect, title:
        case "int32", "Date":
            return Scalar(Primitive("date"), "days", _DAYS)
        case "int32", "Time":
            return Scalar(Primitive("long"), "time_millis", (0, 86_400_000))  # PostgreSQL has 24:00:00
        case "int64", "Timestamp" | "frazil.MicroTimestamp":
            return _stamp(title, schema)
        case "int64", _ if _note(schema, "flink.type") == "timestamp":
            return _stamp(title, schema)  # Flink writes no title where there is no zone
        case "float32", _:
            return Scalar(Primitive("float"), "float", None, allowed)
        case "float64", _:
            return Scalar(Primitive("double"), "double", None, allowed)
        case str(), _ if connect in _INTEGERS:
            column, bounds = _INTEGERS[connect]
            return Scalar(column, "integer", bounds, allowed)
        case None, _ if kind == "integer":
            return Scalar(Primitive("long"), "integer", None, allowed)
        case None, _:
            return Scalar(Primitive("double"), "double", None, allowed)
    raise refuse(
        f"connect.type {connect!r} does not go with {kind}", "Use int8 to int64, or float32, float64."
    )


def _bytes(schema: dict[str, Any], refuse: Refuse) -> Scalar:
    if str(schema.get("title", "")) == f"{_CONNECT}Decimal":
        return Scalar(_decimal(schema, refuse), "base64_number")
    shortest, longest = (_note(schema, f"flink.{k}Length") for k in ("min", "max"))
    if longest is not None and shortest == longest:
        return Scalar(Fixed(int(longest)), "base64")
    return Scalar(Primitive("binary"), "base64")


def _is_wide(kind: str, schema: dict[str, Any], refuse: Refuse) -> bool:
    titled = kind != "string" or str(schema.get("title", "")) == f"{_CONNECT}Decimal"
    is_decimal = schema.get("connect.type") == "bytes" and titled
    return is_decimal and _declared(schema, refuse)[0] > MAX_DIGITS


def _decimal(schema: dict[str, Any], refuse: Refuse) -> Decimal:
    return decimal_type(*_declared(schema, refuse), refuse)


def _declared(schema: dict[str, Any], refuse: Refuse) -> tuple[int, int]:
    """Precision and scale."""
    names = ("connect.decimal.precision", "flink.precision", "precision")
    precision = next((p for n in names if (p := _note(schema, n)) is not None), MAX_DIGITS)
    scale = _note(schema, "scale")
    try:
        return int(precision), 18 if scale is None else int(scale)
    except (TypeError, ValueError):
        raise refuse(f"decimal({precision},{scale}) is no size", "Write numbers.") from None


def _stamp(title: str, schema: dict[str, Any]) -> Scalar:
    if title == MICROS:
        return Scalar(Primitive("timestamp"), "local_micros", _MICROS)
    if _note(schema, "flink.type") == "timestamp":
        return Scalar(Primitive("timestamp"), "local_millis", _MILLIS)
    return Scalar(Primitive("timestamptz"), "millis", _MILLIS)


def _note(schema: dict[str, Any], name: str) -> Any:
    """A note of Connect's or Flink's, wherever it stands."""
    return schema.get("connect.parameters", {}).get(name, schema.get(name))


def _allowed(schema: dict[str, Any]) -> tuple[str | int | float | bool, ...] | None:
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if values is None:
        return None
    return tuple(v for v in values if isinstance(v, int | float) or (isinstance(v, str) and is_text(v)))


def is_text(value: str) -> bool:
    """Whether it is made of characters: half of a surrogate pair is none, and no record may hold one."""
    return not any(0xD800 <= ord(c) < 0xE000 for c in value)
