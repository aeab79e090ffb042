"""What one schema's values may be read as by another, by field name and without loss."""

from __future__ import annotations

from dataclasses import replace

from frazil.schemas.logical import Decimal, Field, List, Map, Primitive, Struct, Type

__all__ = ["can_project", "relaxed"]

_WIDER = {(Primitive("int"), Primitive("long")), (Primitive("float"), Primitive("double"))}


def can_project(writer: Type, reader: Type) -> bool:
    """Whether every value of `writer` has a place in `reader`, or no field there at all.

    What the writer lacks becomes null, so columns must be `relaxed` first.
    """
    match writer, reader:
        case Struct(), Struct():
            pairs = [(w, reader.get(w.name)) for w in writer]
            return all(r is None or can_project(w.type, r.type) for w, r in pairs)
        case List(), List():
            return can_project(writer.element, reader.element)
        case Map(), Map():
            return writer.key == reader.key and can_project(writer.value, reader.value)
        case Decimal(), Decimal():
            return writer.scale == reader.scale and writer.precision <= reader.precision
        case _:
            return writer == reader or (writer, reader) in _WIDER


def relaxed(reader: Struct, writer: Struct) -> Struct:
    """The reader, optional wherever that writer may leave a field without a value."""
    return Struct(tuple(_field(f, writer.get(f.name)) for f in reader))


def _field(field: Field, writer: Field | None) -> Field:
    if writer is None:
        return replace(field, optional=True, demanded=field.demanded or not field.optional)
    kind = _type(field.type, writer.type)
    return replace(field, type=kind, optional=field.optional or writer.optional)


def _type(reader: Type, writer: Type) -> Type:
    match reader, writer:
        case Struct(), Struct():
            return relaxed(reader, writer)
        case List(), List():
            either = reader.element_optional or writer.element_optional
            return List(_type(reader.element, writer.element), either)
        case Map(), Map():
            either = reader.value_optional or writer.value_optional
            return Map(reader.key, _type(reader.value, writer.value), either)
        case _:
            return reader
