"""The keys of encrypted fields, and values that they open.

A value is bytes of Tink's raw ciphers: AES-GCM with its nonce in front, or AES-SIV. Of a rule whose keys
turn, a zero and the key's version stand before it. Texts hold all that in base64. Source: `Cryptor` and
`EncryptionExecutorTransform` of Confluent's client (2.16), and Tink's wire format for keys without a prefix.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

NONCE = 12
"""Bytes before what AES-GCM encrypted."""

FIRST = 1
"""The version of a key that does not turn."""

_VERSION = 5  # bytes of a zero and the version

_KEYS = {b"\x1a\x10": 16, b"\x1a\x20": 32, b"\x12\x40": 64}
"""How Tink's keys begin, as Protobuf, and their sizes: AES-GCM of 128 and 256 bits, AES-SIV."""

_SIZES = {"AES128_GCM": 16, "AES256_GCM": 32, "AES256_SIV": 64}
"""Bytes of a key, by the registry's name of the algorithm."""

ALGORITHMS = tuple(_SIZES)


class SealedError(ValueError):
    """A value that no key opens, and why; no word of the value."""


@dataclass(frozen=True)
class RuleKeys:
    """The keys of one rule.

    Args:
        rule: Its name.
        algorithm: One of `ALGORITHMS`.
        keys: The keys' bytes, by version.
        turns: Whether a version stands before each value.
    """

    rule: str
    algorithm: str
    keys: Mapping[int, bytes] = field(repr=False)
    turns: bool = False

    def opened(self, sealed: bytes) -> bytes:
        """What a value holds; raises SealedError."""
        from cryptography.exceptions import InvalidTag

        version, body = self._parts(sealed)
        cipher = self._ciphers.get(version)
        if cipher is None:
            raise SealedError(f"version {version} of its key is not in the registry")
        try:
            if self.algorithm == "AES256_SIV":
                return bytes(cipher.decrypt(body, [b""]))
            return bytes(cipher.decrypt(body[:NONCE], body[NONCE:], b""))
        except (InvalidTag, ValueError):
            raise SealedError("it is not encrypted by this rule's key, or damaged") from None

    def _parts(self, sealed: bytes) -> tuple[int, bytes]:
        if not self.turns:
            return FIRST, sealed
        if len(sealed) < _VERSION:
            raise SealedError("it is too short to name a version of its key")
        return int.from_bytes(sealed[1:_VERSION], "big"), sealed[_VERSION:]

    @cached_property
    def _ciphers(self) -> dict[int, Any]:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV

        make = AESSIV if self.algorithm == "AES256_SIV" else AESGCM
        return {version: make(key) for version, key in self.keys.items()}

    def __getstate__(self) -> tuple[Any, ...]:
        """Without ciphers, which no task can be sent."""
        return self.rule, self.algorithm, dict(self.keys), self.turns

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        for name, value in zip(("rule", "algorithm", "keys", "turns"), state, strict=True):
            object.__setattr__(self, name, value)


def opened_value(value: str | bytes, rules: tuple[RuleKeys, ...]) -> str | bytes:
    """What a text or bytes hold that rules encrypted, the last one first; raises SealedError."""
    for rule in reversed(rules):
        value = _opened(value, rule)
    return value


def _opened(value: str | bytes, rule: RuleKeys) -> str | bytes:
    if isinstance(value, bytes):
        return rule.opened(value)
    try:
        sealed = base64.b64decode(value, validate=True)
    except ValueError:
        raise SealedError("it is no base64, so nobody encrypted it") from None
    try:
        return rule.opened(sealed).decode()
    except UnicodeDecodeError:
        raise SealedError("it holds no text") from None


def key_bytes(material: bytes, algorithm: str) -> bytes:
    """The key in what a registry or a key service gives of it; raises ValueError."""
    size = _KEYS.get(material[:2], 0)
    if not size or len(material) != size + 2 or size != _SIZES.get(algorithm):
        raise ValueError(f"it is no key of {algorithm}")
    return material[2:]
