"""The one logical schema that stands between the formats and Iceberg."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Decimal", "Field", "Fixed", "List", "Map", "Primitive", "Struct", "Type", "same_type"]

Kind = Literal[
    "boolean", "int", "long", "float", "double", "string", "binary",
    "date", "timestamp", "timestamptz", "uuid",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Primitive:
    """A type without parts; names as Iceberg's."""

    kind: Kind

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True, slots=True)
class Decimal:
    """An exact number of `precision` digits, `scale` of them behind the point."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True, slots=True)
class Fixed:
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


@dataclass(frozen=True, slots=True)
class Map:
    """Values of one type by keys of one type."""

    key: Type
    value: Type
    value_optional: bool = False

    def __str__(self) -> str:
        return f"map<{self.key},{self.value}>"


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


def same_type(one: Type, other: Type) -> bool:
    """Whether both hold the same values: equal but for what is optional, and for docs."""
    match one, other:
        case Struct(), Struct():
            return [f.name for f in one] == [f.name for f in other] and all(
                same_type(a.type, b.type) for a, b in zip(one, other, strict=True)
            )
        case List(), List():
            return same_type(one.element, other.element)
        case Map(), Map():
            return same_type(one.key, other.key) and same_type(one.value, other.value)
        case _:
            return one == other
