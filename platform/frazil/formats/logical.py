"""The one logical schema that stands between the formats and Iceberg."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Context, Inexact, InvalidOperation
from decimal import Decimal as Number
from operator import eq
from typing import ClassVar, Literal, TypeVar, cast

from frazil.formats.paths import member_path

Kind = Literal[
    "boolean", "int", "long", "float", "double", "string", "binary",
    "date", "timestamp", "timestamptz", "uuid",
]  # fmt: skip


MAX_DIGITS = 38
"""Most digits of a decimal in Iceberg, and in Spark."""

VARIANT_NEEDS_V3 = "a variant needs format version 3 of Iceberg, tables here have 2"
"""Why Confluent's variants are refused, in Avro and in Protobuf."""


class _Scalar:
    """A type without parts."""

    __slots__ = ()
    fields: ClassVar[tuple[Field, ...]] = ()


@dataclass(frozen=True, slots=True)
class Primitive(_Scalar):
    """Values of one of Iceberg's plain types, by its name there.

    `of_json` is text that stands for a value that no column holds.
    """

    kind: Kind
    of_json: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True, slots=True)
class Decimal(_Scalar):
    """An exact number of `precision` digits, `scale` of them behind the point.

    `declared` is what the schema says, where that is more than a column holds.
    """

    precision: int
    scale: int
    declared: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"

    def holds(self, number: Number) -> bool:
        """Whether a number fits without being rounded."""
        exact = Context(prec=self.precision, traps=[Inexact, InvalidOperation])
        try:
            exact.quantize(number, Number(1).scaleb(-self.scale))
        except (Inexact, InvalidOperation):
            return False
        return True


@dataclass(frozen=True, slots=True)
class Fixed(_Scalar):
    """Exactly `length` bytes."""

    length: int

    def __str__(self) -> str:
        return f"fixed({self.length})"


@dataclass(frozen=True, slots=True)
class List:
    """Values of one type."""

    element: Type
    element_optional: bool = False

    def __str__(self) -> str:
        return f"list<{self.element}>"

    @property
    def fields(self) -> tuple[Field, ...]:
        """Its part, by Iceberg's name."""
        return (Field("element", self.element, self.element_optional),)


@dataclass(frozen=True, slots=True)
class Map:
    """Values of one type by keys of one type."""

    key: Type
    value: Type
    value_optional: bool = False

    def __str__(self) -> str:
        return f"map<{self.key},{self.value}>"

    @property
    def fields(self) -> tuple[Field, ...]:
        """Its parts, by Iceberg's names."""
        return Field("key", self.key), Field("value", self.value, self.value_optional)


@dataclass(frozen=True, slots=True)
class Field:
    """A named part of a struct.

    `defaulted` ones are required, but read as zero or empty where a record says nothing of them:
    Protobuf's plain fields, Avro's containers with a default. `demanded` ones are optional only to make
    room for records of older schemas: the newest one requires them.
    """

    name: str
    type: Type
    optional: bool = False
    doc: str = field(default="", compare=False)
    defaulted: bool = field(default=False, compare=False)
    demanded: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Struct:
    """Named parts, in order."""

    fields: tuple[Field, ...]

    def __str__(self) -> str:
        return f"struct<{', '.join(f'{f.name}: {f.type}' for f in self.fields)}>"

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def get(self, name: str) -> Field | None:
        """The field of that name, or None."""
        return next((f for f in self.fields if f.name == name), None)


Type = Primitive | Decimal | Fixed | List | Map | Struct

JSON_TEXT = Primitive("string", of_json=True)
"""Text that stands for a value that no column holds."""

T = TypeVar("T", bound=Type)


_MARKS = {"element": "[]", "value": "{}", "key": "{key}"}
_WIDER = {(Primitive("int"), Primitive("long")), (Primitive("float"), Primitive("double"))}


@dataclass(frozen=True, slots=True)
class Where:
    """A place within a table: its path by Iceberg's names, and the same for people, `orders[].price`."""

    path: tuple[str, ...] = ()
    text: str = ""

    def within(self, kind: Type, name: str) -> Where:
        """The place of a part of the value here; `kind` is that value's type."""
        text = member_path(self.text, name) if isinstance(kind, Struct) else self.text + _MARKS[name]
        return Where((*self.path, name), text)

    @property
    def dotted(self) -> str:
        """As Iceberg says it."""
        return ".".join(self.path)


ROOT = Where()


def branch_name(name: str) -> str:
    """A union's branch as readers can type it: `a.b-c` is a path to SQL, and another name to Parquet."""
    return re.sub(r"\W", "_", name)


def with_fields(kind: T, fields: Iterable[Field]) -> T:
    """A type with other parts, as many and in the same order."""
    made: Type = kind
    match kind, tuple(fields):
        case Struct(), parts:
            made = Struct(parts)
        case List(), (element,):
            made = List(element.type, element.optional)
        case Map(), (key, value):
            made = Map(key.type, value.type, value.optional)
    return cast("T", made)


def find(kind: Type, dotted: str) -> Field | None:
    """The struct's field at a path such as `orders.element.price`, or None."""
    if isinstance(kind, Struct) and (here := kind.get(dotted)):
        return here
    parts = kind.fields[-1:] if isinstance(kind, Map) else kind.fields  # keys never change
    inner = (f for f in parts if dotted.startswith(f"{f.name}."))
    return next(filter(None, (find(f.type, dotted[len(f.name) + 1 :]) for f in inner)), None)


def alike(one: Type, other: Type, leaf: Callable[[Type, Type], bool]) -> bool:
    """Whether both have the same names in the same order, at every depth, and all leaves are alike."""
    if type(one) is not type(other) or isinstance(one, _Scalar):
        return leaf(one, other)
    return [f.name for f in one.fields] == [f.name for f in other.fields] and all(
        alike(a.type, b.type, leaf) for a, b in zip(one.fields, other.fields, strict=True)
    )


def same_type(one: Type, other: Type) -> bool:
    """Whether both hold the same values: equal but for what is optional, and for docs."""
    return alike(one, other, eq)


def fits(narrow: Type, wide: Type) -> bool:
    """Whether every value of a type without parts is one of the other type."""
    if isinstance(narrow, Decimal) and isinstance(wide, Decimal):
        return narrow.scale == wide.scale and narrow.precision <= wide.precision
    return narrow == wide or (narrow, wide) in _WIDER


def wider(one: Type, other: Type) -> Type | None:
    """The one of two types without parts that holds every value of both; None where neither does.

    By this rule tables take changes of a type, and decoders take records that were written before them.
    """
    if fits(one, other):
        return other
    return one if fits(other, one) else None


def is_json(kind: Type) -> bool:
    """Whether it is text that stands for a value that no column holds."""
    return isinstance(kind, Primitive) and kind.of_json


def holds_json(kind: Type) -> bool:
    """Whether such text is anywhere in it."""
    return is_json(kind) or any(holds_json(field.type) for field in kind.fields)


def stored(kind: Type) -> Type:
    """A type without parts as tables hold it: a fixed of the wrong length would fail a whole job."""
    return Primitive("binary") if isinstance(kind, Fixed) else kind


def misfit(writer: Type, reader: Type, at: Where = ROOT) -> str | None:
    """Why no column can hold values of both, by field name; None where one can: `relaxed` gives it.

    What the reader lacks is left out. What the writer lacks becomes null.
    """
    maps = isinstance(writer, Map) and isinstance(reader, Map)
    same_keys = not maps or same_type(writer.fields[0].type, reader.fields[0].type)
    if type(writer) is type(reader) and same_keys and not isinstance(writer, _Scalar):
        known = {f.name: f.type for f in reader.fields}
        pairs = ((f.name, f.type, known[f.name]) for f in writer.fields if f.name in known)
        reasons = (misfit(one, other, at.within(writer, name)) for name, one, other in pairs)
        return next(filter(None, reasons), None)
    if is_json(writer) is not is_json(reader):
        return f"field {at.text}: JSON text and {reader if is_json(writer) else writer} are no one column"
    if wider(stored(writer), stored(reader)):
        return None
    return f"field {at.text}: {writer} can't become {reader} without loss"


def relaxed(reader: T, writer: Type) -> T:
    """The reader, with wider types and optional fields where a writer that fits it needs them."""
    if isinstance(reader, Primitive | Decimal | Fixed) and reader != writer:
        chosen = wider(stored(writer), stored(reader)) or reader
        if isinstance(chosen, Decimal) and isinstance(reader, Decimal):
            chosen = replace(chosen, declared=reader.declared)  # what an older version declared binds nobody
        return cast("T", chosen)
    if type(reader) is not type(writer):
        return reader
    known = {f.name: f for f in writer.fields}
    return with_fields(reader, (_relaxed(f, known.get(f.name)) for f in reader.fields))


def _relaxed(field: Field, writer: Field | None) -> Field:
    if writer is None:
        return replace(field, optional=True, demanded=field.demanded or not field.optional)
    kind = relaxed(field.type, writer.type)
    return replace(field, type=kind, optional=field.optional or writer.optional)
