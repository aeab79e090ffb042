"""What a JSON Schema says of a value: the column it becomes, and how it stands in the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from frazil.formats.logical import Decimal, Field, Fixed, List, Map, Primitive, Struct, Type

__all__ = [
    "Branches", "Entries", "Items", "Member", "Members", "Node", "Pairs", "Scalar", "Wire",
    "as_columns", "logical",
]  # fmt: skip

Wire = Literal[
    "boolean", "integer", "float", "double", "number", "string", "base64", "base64_number",
    "days", "time_millis", "millis", "local_millis",
]  # fmt: skip
"""How a scalar is written; `number` is an exact one, `base64_number` Connect's bytes of one."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value without parts.

    Args:
        type: Its column.
        wire: How the text writes it.
        bounds: The smallest and the greatest integer that may stand there.
        allowed: The values of an enumeration, all that may stand there.
    """

    type: Primitive | Decimal | Fixed
    wire: Wire
    bounds: tuple[int, int] | None = None
    allowed: tuple[str | int | float | bool, ...] | None = None


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
    """A property of an object, or a branch of a union."""

    name: str
    node: Node
    optional: bool = False
    doc: str = ""


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

    def get(self, name: str) -> Member | None:
        """The branch of that name, or None."""
        return next((m for m in self.members if m.name == name), None)


Node = Scalar | Items | Entries | Pairs | Members | Branches


def logical(node: Node) -> Type:
    """The column that a value becomes."""
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
    """A record's columns: an object's members, or one for a root that is none.

    Args:
        node: The root.
        kind: What it becomes.
        word: Names that one column.
    """
    return kind if isinstance(node, Members) and isinstance(kind, Struct) else Struct((Field(word, kind),))
