"""Masks of values as independent decoders give them. It shares nothing with `batch`, which it judges."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from decimal import Decimal as Number
from typing import Any

from frazil.formats.bare import Unknown
from frazil.formats.logical import Decimal, List, Map, Struct, Type


def masked_values(
    kind: Type, values: Any, words: Mapping[str, str], keys: Mapping[str, bytes], at: str = ""
) -> Any:
    """The values of a type, with masks at some paths.

    Args:
        kind: The type before masking.
        values: As `formats.bare` has them.
        words: The masks, by path.
        keys: The keys of hashes, by path.
    """
    if values is None or isinstance(values, Unknown):
        return values
    match kind:
        case Struct():
            return {
                f.name: _one(f.type, values[f.name], words, keys, f"{at}{f.name}")
                for f in kind
                if f.name in values and words.get(f"{at}{f.name}") != "drop"
            }
        case List():
            return [_one(kind.element, value, words, keys, f"{at}element") for value in values]
        case Map():
            return [(name, _one(kind.value, value, words, keys, f"{at}value")) for name, value in values]
    return values


def _one(kind: Type, value: Any, words: Mapping[str, str], keys: Mapping[str, bytes], path: str) -> Any:
    word = words.get(path)
    if word is None:
        return masked_values(kind, value, words, keys, f"{path}.")
    if value is None or isinstance(value, Unknown) or word == "redact":
        return value if isinstance(value, Unknown) else None
    if word == "hash":
        return hmac.new(keys[path], _bytes_of(kind, value), hashlib.sha256).hexdigest()
    text = str(value)
    return f"****{text[-4:]}" if len(text) > 7 else "****"


def _bytes_of(kind: Type, value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    return (f"{Number(value):.{kind.scale}f}" if isinstance(kind, Decimal) else str(value)).encode()
