"""The columns that masks make of fields, and which masks a field can have."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from frazil.formats.logical import Decimal, Field, Fixed, Primitive, Struct, Type, find, with_fields
from frazil.spec.guard import ColumnMask

TEXT = Primitive("string")
_TEXTS = (TEXT, Primitive("int"), Primitive("long"))
_HASHED = (*_TEXTS, Primitive("uuid"), Primitive("binary"))

EXACT = 6
"""Digits after the point of a decimal whose text never has an exponent, in any writer's notation."""

NOTES = {
    "hash": "Masked: HMAC-SHA256 of the value, by the key {}.",
    "redact": "Masked: always null.",
    "last4": "Masked: the last four characters.",
}
"""What a column's comment says of its mask."""


def masked_columns(columns: Struct, masks: Mapping[str, ColumnMask]) -> Struct:
    """The columns of one half of a record after masking; those without a mask stay as they are."""
    return Struct(tuple(_masked(columns.fields, masks, ""))) if masks else columns


def mask_fault(columns: Struct, path: str, mask: ColumnMask) -> str:
    """Why the field at a path can't have a mask; empty where it can, or is not there."""
    own = find(columns, path)
    if own is None:
        return ""
    if mask.word == "hash" and not _is_hashed(own.type):
        return f"{path} is {own.type}; hash takes texts, whole numbers, bytes and decimals: redact or drop it"
    if mask.word == "last4" and own.type not in _TEXTS:
        return f"{path} is {own.type}; last4 takes texts and whole numbers: redact or drop it"
    parent = find(columns, path.rpartition(".")[0]) if "." in path else None
    if mask.word == "drop" and parent and len(parent.type.fields) == 1:
        return f"{path} is all that its record has: drop the record"
    return ""


def masked_by(doc: str) -> str:
    """The mask that a column's comment names; empty where it names none."""
    before = {word: note.partition("{}")[0] for word, note in NOTES.items()}
    return next((word for word, note in before.items() if note in doc), "")


def mask_paths(masks: Collection[str], at: str) -> bool:
    """Whether a field within the one at a path has a mask."""
    return any(path.startswith(f"{at}.") for path in masks)


def _masked(fields: Collection[Field], masks: Mapping[str, ColumnMask], at: str) -> Iterator[Field]:
    for field in fields:
        path = f"{at}{field.name}"
        mask = masks.get(path)
        if mask is None:
            yield replace(field, type=_within(field.type, masks, path))
        elif mask.word != "drop":
            yield _of_mask(field, mask)


def _within(kind: Type, masks: Mapping[str, ColumnMask], path: str) -> Type:
    if not mask_paths(masks, path):
        return kind
    return with_fields(kind, _masked(kind.fields, masks, f"{path}."))


def _of_mask(field: Field, mask: ColumnMask) -> Field:
    doc = f"{field.doc} {NOTES[mask.word].format(mask.key)}".strip()
    if mask.word == "redact":
        return replace(field, optional=True, demanded=False, defaulted=False, doc=doc)
    return replace(field, type=TEXT, doc=doc)


def _is_hashed(kind: Type) -> bool:
    return kind in _HASHED or isinstance(kind, Fixed) or (isinstance(kind, Decimal) and kind.scale <= EXACT)
