"""AWS Glue's wire: a three, a byte for the compression, the UUID of a schema version, and the payload.

Such a payload is given Confluent's prefix before it is decoded, so that decoders know one wire. Source: AWS'
serializers, `EncodingConstants`, `ProtobufWireFormatEncoder` and `MessageIndexFinder`
(https://github.com/awslabs/aws-glue-schema-registry).
"""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.exact import flags_of, values_of
from frazil.formats.protocol import Reason
from frazil.formats.wires.prefix import header_bytes

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = b"\3"
PLAIN, ZLIB = 0, 5
HEAD = 18
"""Bytes before the payload."""

MOST, TIMES = 2**20, 100
"""Bytes that any compressed payload may come to, and how many times its size beyond these. A few bytes may
become gigabytes, and take the task's memory."""

_VARINT = 5  # bytes of a message's index at most


@dataclass(frozen=True, slots=True)
class GlueWire:
    """The versions of one schema in Glue's registry.

    Args:
        schema: Its name, for people.
        ids: The ids that the decoders know versions by, by the bytes of their UUIDs.
        messages: Confluent's indexes of each message of a version, in the order of Glue's, by its id: for
            Protobuf; else nothing.
    """

    schema: str
    ids: Mapping[bytes, int]
    messages: Mapping[int, Sequence[bytes]]

    def prefixed(self, raw: pa.BinaryArray) -> pa.BinaryArray:
        """Payloads of this wire behind Confluent's prefix, empty where that can't be; others as they are."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        own = flags_of(pc.starts_with(raw, VERSION))
        if not own.any():
            return raw
        places = np.flatnonzero(own)
        made = [self._made(each)[0] for each in values_of(raw.take(pa.array(places)))]
        return pc.replace_with_mask(raw, pa.array(own), pa.array(made, pa.binary()))

    def prefixed_one(self, raw: bytes) -> bytes:
        """The same of one payload."""
        return self._made(raw)[0] if raw.startswith(VERSION) else raw

    def reason(self, raw: bytes) -> Reason | None:
        """Why a payload of this wire can't be decoded; None where it can, or is of another one."""
        return self._made(raw)[1] if raw.startswith(VERSION) else None

    def _made(self, raw: bytes) -> tuple[bytes, Reason | None]:
        try:
            return self._with_prefix(raw), None
        except _WireFault as e:
            return b"", e.reason

    def _with_prefix(self, raw: bytes) -> bytes:
        if len(raw) < HEAD:
            raise _WireFault("too_short", f"{len(raw)} bytes are too short for Glue's wire")
        schema_id = self.ids.get(raw[2:HEAD])
        if schema_id is None:
            version = uuid.UUID(bytes=raw[2:HEAD])
            raise _WireFault("schema_id", f"schema version {version} is not of schema {self.schema}")
        payload = _plain(raw[1], raw[HEAD:])
        if schema_id not in self.messages:
            return header_bytes(schema_id) + payload
        index, at = _varint(payload)
        indexes = self.messages[schema_id]
        if index >= len(indexes):
            raise _WireFault(
                "message_indexes", f"the schema has {len(indexes)} messages, none of index {index}"
            )
        return header_bytes(schema_id) + indexes[index] + payload[at:]


class _WireFault(ValueError):
    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.reason: Reason = code, text


def _plain(compression: int, payload: bytes) -> bytes:
    if compression == PLAIN:
        return payload
    if compression != ZLIB:
        raise _WireFault("compression", f"{compression} is no compression of Glue's wire")
    most, opened = max(MOST, TIMES * len(payload)), zlib.decompressobj()
    try:
        opened_payload = opened.decompress(payload, most)
    except zlib.error:
        raise _WireFault("compression", "the compressed payload is damaged") from None
    if opened.unconsumed_tail:
        raise _WireFault("compression", f"the compressed payload comes to more than {most:,} bytes")
    if not opened.eof or opened.unused_data:
        raise _WireFault("compression", "the compressed payload is damaged")
    return opened_payload


def _varint(payload: bytes) -> tuple[int, int]:
    number = 0
    for at, byte in enumerate(payload[:_VARINT]):
        number |= (byte & 127) << 7 * at
        if byte < 128:
            return number, at + 1
    raise _WireFault("message_indexes", "the message's index ends early")
