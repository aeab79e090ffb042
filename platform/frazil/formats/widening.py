"""What one schema's values may be read as by another, by field name and without loss."""

from __future__ import annotations

from dataclasses import replace

from frazil.formats.logical import Decimal, Field, List, Map, Primitive, Struct, Type

__all__ = ["misfit", "relaxed"]

_WIDER = {(Primitive("int"), Primitive("long")), (Primitive("float"), Primitive("double"))}


def misfit(writer: Type, reader: Type, path: str = "") -> str | None:
    """Why some value of `writer` has no place in `reader`; none where all have.

    What the reader lacks is left out. What the writer lacks becomes null, so columns must be `relaxed`.
    """
    match writer, reader:
        case Struct(), Struct():
            pairs = [(w, reader.get(w.name)) for w in writer]
            found = (misfit(w.type, r.type, f"{path}.{w.name}".lstrip(".")) for w, r in pairs if r)
            return next((m for m in found if m), None)
        case List(), List():
            return misfit(writer.element, reader.element, f"{path}[]")
        case Map(), Map() if writer.key == reader.key:
            return misfit(writer.value, reader.value, f"{path}{{}}")
        case Decimal(), Decimal() if writer.scale == reader.scale and writer.precision <= reader.precision:
            return None
        case _ if writer == reader or (writer, reader) in _WIDER:
            return None
    return f"field {path}: {writer} can't become {reader} without loss"


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
