"""What the decoder of a topic needs to mask its records, with the keys that hashes are made with."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal as Number
from typing import Any

from pydantic import SecretStr

from frazil.errors import ConfigureError
from frazil.formats.bare import Bare, Unknown
from frazil.formats.logical import Decimal, List, Map, Struct, Type
from frazil.formats.masks.batch import ArrowMasks
from frazil.formats.masks.columns import masked_columns
from frazil.settings.secret import revealed
from frazil.spec.guard import ColumnMask, Guarded

Keys = Mapping[str, SecretStr]
"""The keys of a profile, by name."""

SHORTEST_KEY = 16
"""Fewest characters of a key: a shorter one can be guessed, and with it every value that was hashed."""


@dataclass(frozen=True, slots=True)
class Masks:
    """The masks of a topic's fields, by path; `keys` are those of hashes, by path as well."""

    choices: Mapping[str, ColumnMask] = field(default_factory=dict)
    keys: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, spec: Guarded, keys: Keys) -> Masks:
        """The masks of a spec; raises ConfigureError where the profile lacks a key of theirs."""
        hashed = {path: mask.key for path, mask in spec.masks.items() if mask.word == "hash"}
        own = {path: key_of(keys, name, f"{path}: {{mask: hash}}") for path, name in hashed.items()}
        return cls(spec.masks, own)

    def __bool__(self) -> bool:
        return bool(self.choices)

    def columns(self, half: Struct) -> Struct:
        """The columns of one half, masked."""
        return masked_columns(half, self.choices)

    def arrow(self) -> ArrowMasks:
        """What masks batches."""
        return ArrowMasks(self._words, self.keys)

    def values(self, half: Struct, values: Bare) -> Bare:
        """The values of one half that an independent decoder gives, masked."""
        masked: Bare = _masked_values(half, values, self._words, self.keys) if self else values
        return masked

    def marks(self) -> dict[str, str]:
        """What a table notes of each mask: its word, and of a hash its key's name and mark."""
        return {
            path: f"hash {mask.key} {key_mark(self.keys[path])}" if mask.word == "hash" else mask.word
            for path, mask in self.choices.items()
            if mask.word != "drop"
        }

    @property
    def dropped(self) -> tuple[str, ...]:
        """The paths of fields that become no column."""
        return tuple(path for path, mask in self.choices.items() if mask.word == "drop")

    @property
    def _words(self) -> dict[str, str]:
        return {path: mask.word for path, mask in self.choices.items()}


NO_MASKS = Masks()


def key_mark(key: bytes) -> str:
    """A few letters that are others for another key."""
    return hmac.digest(key, b"frazil mask key", "sha256").hex()[:8]


def key_of(keys: Keys, name: str, purpose: str) -> bytes:
    """A key of the profile.

    Raises:
        ConfigureError: There is none of that name, or it is too short.
    """
    key = (revealed(keys.get(name)) or "").encode()
    if len(key) >= SHORTEST_KEY:
        return key
    raise ConfigureError(
        f"The profile's key {name} is {'too short' if key else 'missing'}.",
        where=purpose,
        meaning="Nothing was landed.",
        todo=f"Set `named_keys` in the profile, as in {{'{name}': 'aws-secret:NAME'}}, or FRAZIL_NAMED_KEYS "
        f"to the same as JSON: a secret of {SHORTEST_KEY} characters or more (docs/masks.md).",
    )


def _masked_values(
    kind: Type, values: Any, words: Mapping[str, str], keys: Mapping[str, bytes], at: str = ""
) -> Any:
    """The values of a type, with masks at some paths. It shares nothing with `batch`, which it judges.

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
        return _masked_values(kind, value, words, keys, f"{path}.")
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
