"""The bytes of dead letters of a table with masks: encrypted, or not kept at all.

AES-GCM (NIST SP 800-38D) by a key that HKDF (RFC 5869) makes of the profile's; where the record stood is
authenticated with it, so that nobody puts the bytes of one record in the place of another's.
"""

from __future__ import annotations

import json
import os
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from frazil.errors import ConfigureError
from frazil.exact import values_of
from frazil.formats.masks.guard import Keys, key_of
from frazil.spec.guard import Guarded

if TYPE_CHECKING:
    import pyarrow as pa

WITHHELD = "withheld"
"""What stands in the place of a key's name where the bytes are not kept."""

_VERSION, _NONCE = b"\1", 12
_HALVES = ("raw_key", "raw_value")


@dataclass(frozen=True, slots=True)
class Seal:
    """How one table keeps the bytes of dead letters.

    Args:
        name: Of the key, `WITHHELD` where there is none, empty where the bytes are kept as they are.
    """

    name: str = ""
    key: bytes = field(default=b"", repr=False)

    @classmethod
    def of(cls, spec: Guarded, keys: Keys) -> Seal:
        """As a spec says; raises ConfigureError where the profile lacks the key."""
        if not spec.withholds_raw:
            return cls()
        name = spec.dead_letters.encrypt_with
        return cls(name, sealing_key(keys, name)) if name else cls(WITHHELD)

    def kept(self, record: Mapping[str, Any], topic: str) -> dict[str, Any]:
        """What a dead letter has of a record's bytes."""
        if not self.name:
            return {half: record[half] for half in _HALVES}
        sealed = self._sealed(record, topic) if self.key else None
        return {**dict.fromkeys(_HALVES), "seal": self.name, "sealed": sealed}

    def _sealed(self, record: Mapping[str, Any], topic: str) -> bytes:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        halves = {
            half: None if (raw := record[half]) is None else b64encode(raw).decode() for half in _HALVES
        }
        nonce, place = os.urandom(_NONCE), _place(topic, record["partition"], record["offset"])
        return _VERSION + nonce + AESGCM(self.key).encrypt(nonce, json.dumps(halves).encode(), place)


AS_THEY_CAME = Seal()
"""Of a table without masks."""


def sealing_key(keys: Keys, name: str) -> bytes:
    """The key of AES by the name of the profile's."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    secret = key_of(keys, name, f"dead_letters: {{encrypt_with: {name}}}")
    return HKDF(SHA256(), length=32, salt=None, info=b"frazil dead letters").derive(secret)


def opened(
    sealed: bytes, name: str, key: bytes, place: tuple[str, int, int]
) -> tuple[bytes | None, bytes | None]:
    """The raw key and value of a dead letter.

    Raises:
        ConfigureError: The key is another one than that which the bytes were encrypted with.
    """
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce, text = sealed[1 : 1 + _NONCE], sealed[1 + _NONCE :]
    try:
        halves = json.loads(AESGCM(key).decrypt(nonce, text, _place(*place)))
    except InvalidTag:
        raise _other_key(name, place) from None
    raw_key, raw_value = (None if halves[half] is None else b64decode(halves[half]) for half in _HALVES)
    return raw_key, raw_value


@dataclass(frozen=True, slots=True)
class Opening:
    """Opens the sealed letters of batches, in Spark's workers."""

    keys: Mapping[str, bytes] = field(repr=False)

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Each batch with the raw key and value of letters that were sealed by one of the keys."""
        for batch in batches:
            yield self._opened(batch)

    def _opened(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        import pyarrow as pa

        names = ("raw_key", "raw_value", "seal", "sealed", "topic", "partition", "offset")
        raw = zip(*(values_of(batch[name]) for name in names), strict=True)
        halves = [
            opened(sealed, seal, self.keys[seal], (topic, partition, offset))
            if sealed and seal in self.keys
            else (key, value)
            for key, value, seal, sealed, topic, partition, offset in raw
        ]
        columns = {"raw_key": [key for key, _ in halves], "raw_value": [value for _, value in halves]}
        return pa.RecordBatch.from_arrays(
            [pa.array(columns[n], pa.binary()) if n in columns else batch[n] for n in batch.schema.names],
            names=batch.schema.names,
        )


def _place(topic: str, partition: int, offset: int) -> bytes:
    return f"{topic}/{partition}/{offset}".encode()


def _other_key(name: str, place: tuple[str, int, int]) -> ConfigureError:
    topic, partition, offset = place
    return ConfigureError(
        f"A dead letter was encrypted with another key than the profile's {name}.",
        where=f"topic {topic}, partition {partition}, offset {offset}",
        meaning="It stays as it is; nothing was redriven.",
        todo=f"Put the key of then back under the name {name}; a new key needs a name of its own.",
    )
