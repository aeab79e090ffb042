"""What a spec says of single columns: it leaves one out, masks it, or gives it a wider type.

Records are decoded as their schemas say, whatever becomes of a field: a bad value makes a bad record.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import cast

from frazil.errors import SpecError
from frazil.formats.logical import Decimal, Field, Kind, Primitive, Struct, Type, find, fits
from frazil.formats.masks.columns import EXACT, mask_fault, masked_columns
from frazil.spec.guard import LEAVE_OUT, OPTIONAL
from frazil.spec.topic import TableSpec

_DIGITS = re.compile(r"decimal\((\d+),(\d+)\)")


def chosen(spec: TableSpec, key: Struct, value: Struct) -> tuple[Struct, Struct]:
    """The columns of both halves that a table gets, with the types that it gives them.

    Raises:
        SpecError: There is no such field, a value may not fit, or the field tells rows apart.
    """
    names = {f.name for f in (*key, *value)}
    _check_masks(spec, key, value)
    if unknown := sorted(spec.column_words.keys() - names):
        if whole := next((name for name in sorted(names) if unknown[0].startswith(f"{name}.")), ""):
            raise _refusal(spec, f"{unknown[0]} is within {whole}, and only whole columns are named here")
        there = ", ".join(sorted(names)) or "none"
        raise _refusal(spec, f"neither key nor value has a field {unknown[0]}; there are {there}")
    of_key = spec.key_fields or tuple(f.name for f in key)
    if spec.is_keyed and (own := sorted(_changed(spec) & set(of_key))):
        raise _refusal(spec, f"{own[0]} tells rows apart, and stays as it is; mask: hash keeps them apart")
    one, two = (Struct(tuple(_kept(spec, half))) for half in (key, value))
    return masked_columns(one, spec.masks), masked_columns(two, spec.masks)


def _changed(spec: TableSpec) -> set[str]:
    """Columns whose values may not be told apart as those of their fields are."""
    return {*spec.column_words, *(path for path, mask in spec.masks.items() if mask.word != "hash")}


def _check_masks(spec: TableSpec, key: Struct, value: Struct) -> None:
    halves = [half for half in (key, value) if half.fields]
    for path, mask in spec.masks.items():
        if not any(find(half, path) for half in halves):
            there = ", ".join(dict.fromkeys(f.name for half in halves for f in half)) or "none"
            raise _refusal(spec, f"neither key nor value has a field {path} to mask; there are {there}")
        if why := next(filter(None, (mask_fault(half, path, mask) for half in halves)), ""):
            raise _refusal(spec, why)


def _kept(spec: TableSpec, fields: Iterable[Field]) -> Iterator[Field]:
    for field in fields:
        word = spec.column_words.get(field.name)
        if word is None:
            yield field
        elif word == OPTIONAL:
            yield replace(field, optional=True, demanded=False)
        elif word != LEAVE_OUT:
            kind = _type(word)
            if not _takes(field.type, kind):
                why = f"{field.name} is {field.type}, and {word} does not hold each of its values as it is"
                raise _refusal(spec, why)
            yield replace(field, type=kind)


def _type(word: str) -> Type:
    if digits := _DIGITS.fullmatch(word):
        return Decimal(int(digits[1]), int(digits[2]))
    return Primitive(cast("Kind", word))


def _takes(have: Type, want: Type) -> bool:
    """Whether each value of a type is one of another, or has one text there."""
    if want == Primitive("string"):
        whole = have in (Primitive("int"), Primitive("long"), want)
        return whole or (isinstance(have, Decimal) and have.scale <= EXACT)
    return not (have.fields or want.fields) and fits(have, want)


def _refusal(spec: TableSpec, why: str) -> SpecError:
    return SpecError(
        f"columns: {why}.",
        where=f"topic {spec.topic}",
        meaning="Nothing was landed.",
        todo="Fix columns in defs.yaml, or take the name out.",
    )
