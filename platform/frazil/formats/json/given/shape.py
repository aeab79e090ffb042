"""What a list of fields says of a record: what is looked at in it, and the columns that this becomes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from frazil.formats.json.nodes import TEXT, Items, Member, Members, Node, Scalar, logical
from frazil.formats.logical import Decimal, Field, Primitive, Struct
from frazil.spec.fields import ANY_JSON, JsonField, digits_of, element_of

_INT = (-(2**31), 2**31 - 1)
_MILLIS = ((2**63 - 1) // -1000 + 1, (2**63 - 1) // 1000)
"""Milliseconds of which 64 bits hold the microseconds."""

_SCALARS: dict[str, Scalar] = {
    "boolean": Scalar(Primitive("boolean"), "boolean"),
    "int": Scalar(Primitive("int"), "integer", _INT),
    "long": Scalar(Primitive("long"), "integer"),
    "float": Scalar(Primitive("float"), "float"),
    "double": Scalar(Primitive("double"), "double"),
    "string": Scalar(Primitive("string"), "string"),
    "binary": Scalar(Primitive("binary"), "base64"),
    "date": Scalar(Primitive("date"), "day"),
    "timestamp": Scalar(Primitive("timestamp"), "local"),
    "timestamptz": Scalar(Primitive("timestamptz"), "zoned"),
}
_IN_MILLIS: dict[str, Scalar] = {
    "timestamp": Scalar(Primitive("timestamp"), "local_millis", _MILLIS),
    "timestamptz": Scalar(Primitive("timestamptz"), "millis", _MILLIS),
}

_Part = tuple[Sequence[str], JsonField]
"""A field, and the names that still lead to it."""


def shape_of(fields: Iterable[JsonField]) -> Members:
    """The record, of which only these fields are looked at.

    What holds a field that may not be missing may not be missing either.
    """
    return _members([(field.steps, field) for field in fields])


def columns_of(fields: Iterable[JsonField], rest: Field | None = None) -> Struct:
    """A column for each field, in their order, and the one for what they do not name."""
    return Struct((*(_column(field) for field in fields), *([rest] if rest else ())))


def _column(field: JsonField) -> Field:
    doc = "JSON text." if field.type == ANY_JSON else ""
    return Field(field.name, logical(_node(field)), field.optional, doc)


def _members(parts: Iterable[_Part]) -> Members:
    by_name: dict[str, list[_Part]] = {}
    for (first, *rest), field in parts:
        by_name.setdefault(first, []).append((rest, field))
    return Members(tuple(_member(name, own) for name, own in by_name.items()))


def _member(name: str, parts: list[_Part]) -> Member:
    rest, field = parts[0]
    node = _members(parts) if rest else _node(field)
    return Member(name, node, all(field.optional for _, field in parts))


def _node(field: JsonField) -> Node:
    return _IN_MILLIS[field.type] if field.unit else _of_type(field.type)


def _of_type(word: str) -> Node:
    if element := element_of(word):
        return Items(_of_type(element), optional=True)
    if word == ANY_JSON:
        return TEXT
    if word in _SCALARS:
        return _SCALARS[word]
    return Scalar(Decimal(*digits_of(word)), "number")
