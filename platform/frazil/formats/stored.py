"""Logical fields as an Iceberg table gives them back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import cast

from frazil.formats.iceberg import from_iceberg, to_iceberg
from frazil.formats.logical import Field, List, Map, Struct, Type

__all__ = ["stored"]


def stored(fields: Iterable[Field]) -> tuple[Field, ...]:
    """Fields as a table holds them (`fixed` as binary, say), and what they say of defaults."""
    original = Struct(tuple(fields))
    return cast("Struct", _like(from_iceberg(to_iceberg(original)), original)).fields


def _like(kept: Type, original: Type) -> Type:
    match kept, original:
        case Struct(), Struct():
            pairs = zip(kept, original, strict=True)
            return Struct(tuple(replace(o, type=_like(k.type, o.type)) for k, o in pairs))
        case List(), List():
            return replace(kept, element=_like(kept.element, original.element))
        case Map(), Map():
            return replace(kept, value=_like(kept.value, original.value))
        case _:
            return kept
