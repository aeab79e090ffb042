"""JSON's (writer, reader) pairs: may records of an older schema stand in the newest one's columns."""

from __future__ import annotations

from dataclasses import replace

from frazil.formats.json.nodes import Branches, Entries, Items, Members, Node, Pairs, Scalar, logical
from frazil.formats.logical import Decimal, Field, List, Map, Primitive, Struct, Type

__all__ = ["can_become", "with_room_for"]

_WIDER = {(Primitive("int"), Primitive("long")), (Primitive("float"), Primitive("double"))}


def can_become(writer: Node, reader: Type) -> bool:
    """Whether every value of the writer's has a place in the reader's type; what it lacks becomes null."""
    match writer, reader:
        case Scalar(), _:
            return _holds(writer.type, reader)
        case Items(), List():
            return can_become(writer.element, reader.element)
        case Entries(), Map():
            return reader.key == Primitive("string") and can_become(writer.value, reader.value)
        case Pairs(), Map():
            return logical(writer.key) == reader.key and can_become(writer.value, reader.value)
        case ((Members() | Branches()), Struct()):
            shared = ((m, reader.get(m.name)) for m in writer.members)
            return all(f is None or can_become(m.node, f.type) for m, f in shared)
        case _:
            return False


def with_room_for(writer: Node, reader: Type) -> Type:
    """The reader's type, optional wherever the writer may leave something out."""
    match writer, reader:
        case Items(), List():
            inner = with_room_for(writer.element, reader.element)
            return List(inner, reader.element_optional or writer.optional)
        case ((Entries() | Pairs()), Map()):
            inner = with_room_for(writer.value, reader.value)
            return Map(reader.key, inner, reader.value_optional or writer.optional)
        case ((Members() | Branches()), Struct()):
            return Struct(tuple(_field(writer, f) for f in reader))
        case _:
            return reader


def _field(writer: Members | Branches, field: Field) -> Field:
    member = writer.get(field.name)
    if member is None:
        return replace(field, optional=True, demanded=field.demanded or not field.optional)
    kind = with_room_for(member.node, field.type)
    return replace(field, type=kind, optional=field.optional or member.optional)


def _holds(narrow: Type, wide: Type) -> bool:
    if isinstance(narrow, Decimal) and isinstance(wide, Decimal):
        return narrow.scale == wide.scale and narrow.precision <= wide.precision
    return narrow == wide or (narrow, wide) in _WIDER
