"""What names the schema of a payload where Confluent's prefix does not: a header, or Avro's own first bytes.

Such a payload is given the prefix that it lacks before it is decoded, so that decoders know one wire. Records
of all wires may lie on one topic. Sources: Confluent's `HeaderSchemaIdSerializer` and
`DualSchemaIdDeserializer` (schema-serializer, 8.0) for headers; for objects of their own
https://avro.apache.org/docs/1.12.0/specification/#single-object-encoding.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from frazil.exact import flags_of, values_of
from frazil.formats.protocol import Half, Reason
from frazil.formats.wires.prefix import HEADER, WireError, header_bytes, header_of

if TYPE_CHECKING:
    import pyarrow as pa

Headers = Iterable[tuple[str, bytes | None]]
"""Of one record, in order."""

SCHEMA_HEADER = "schema_header"
"""Code of a reason: a header names a schema that nobody knows; of keys behind `key_`."""

SINGLE_OBJECT = b"\xc3\x01"
"""Begins an Avro object of its own; eight bytes of a fingerprint follow."""

ID, GUID = b"\0", b"\1"
"""Begin a header with a schema's id in four bytes, or with its GUID in sixteen."""

_OBJECT, _WITH_GUID = 10, 17  # bytes of these, with what they begin with


@dataclass(frozen=True, slots=True)
class Naming:
    """What may name the schemas of one half beside the prefix; nothing, where it has no schemas.

    Args:
        header: The header that may.
        subject: For people.
        ids: Schema ids by what names them: a GUID as it stands in the header, or an object's first bytes.
        indexed: Whether the indexes of a message follow, as in Protobuf.
    """

    header: str = ""
    subject: str = ""
    ids: Mapping[bytes, int] = field(default_factory=dict)
    indexed: bool = False

    def prefixed(self, raw: pa.BinaryArray, names: pa.ListArray, values: pa.ListArray) -> pa.BinaryArray:
        """Payloads behind Confluent's prefix, whatever named their schemas; empty where it names none.

        Args:
            raw: One half of records; null where they have none.
            names: Of each record's headers.
            values: Of the same headers.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        named = _last(names, values, self.header) if self.header else None
        marks = self._marks(raw, named)
        if named is None and marks is None:
            return raw
        prefix, is_unknown = pa.array([b""] * len(raw), pa.binary()), pa.array([False] * len(raw))
        for found, meaning in ((named, self._of_header), (marks, self._of_mark)):
            if found is not None:
                known = _translated(found, meaning)
                prefix = pc.coalesce(known, prefix)
                is_unknown = pc.or_(is_unknown, pc.and_not(found.is_valid(), known.is_valid()))
        if marks is not None:
            raw = pc.if_else(marks.is_valid(), pc.binary_slice(raw, _OBJECT, 2**31 - 1), raw)
        # What names no schema that is known must not be taken for a prefix: no decoder takes what is empty.
        payload = pc.if_else(pc.and_(is_unknown, raw.is_valid()), b"", raw)
        return pc.binary_join_element_wise(prefix, payload, b"")

    def prefixed_one(self, raw: bytes, headers: Headers) -> bytes:
        """The same of one payload."""
        if (name := self._header_in(headers)) is not None:
            prefix, payload = self._of_header(name), raw
        elif self._is_object(raw):
            prefix, payload = self._of_mark(raw[:_OBJECT]), raw[_OBJECT:]
        else:
            return raw
        return b"" if prefix is None else prefix + payload

    def reason(self, half: Half, raw: bytes, headers: Headers) -> Reason | None:
        """Why a payload's schema is not known though something names it; None where nothing is amiss."""
        name = self._header_in(headers)
        if name is None:
            if not self._is_object(raw) or self._of_mark(raw[:_OBJECT]) is not None:
                return None
            return (
                "schema_id",
                f"fingerprint {raw[2:_OBJECT].hex()} is of no version of subject {self.subject}",
            )
        if self._of_header(name) is not None:
            return None
        code = f"{'key_' if half.word == 'key' else ''}{SCHEMA_HEADER}"
        if not name.startswith(GUID) or len(name) < _WITH_GUID or name[:_WITH_GUID] in self.ids:
            return code, f"header {self.header} holds bytes that name no schema: {name[:20].hex()}"
        guid, prefix = uuid.UUID(bytes=name[1:_WITH_GUID]), f"{half.word}.schema.id.serializer"
        if any(known.startswith(GUID) for known in self.ids):
            return code, f"header {self.header} names schema {guid}, which is not of subject {self.subject}"
        return code, (
            f"header {self.header} names schema {guid}, and this registry tells no GUIDs: have the producer "
            f"put the id before the payload ({prefix}: PrefixSchemaIdSerializer)"
        )

    @property
    def _has_objects(self) -> bool:
        return any(name.startswith(SINGLE_OBJECT) for name in self.ids)

    def _is_object(self, raw: bytes) -> bool:
        return self._has_objects and raw.startswith(SINGLE_OBJECT)

    def _marks(self, raw: pa.BinaryArray, named: pa.BinaryArray | None) -> pa.BinaryArray | None:
        """The first bytes of Avro objects that no header names, null of others; None where there is none."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not self._has_objects:
            return None
        own = pc.starts_with(raw, SINGLE_OBJECT).fill_null(False)
        own = own if named is None else pc.and_not(own, named.is_valid())
        if not flags_of(own).any():
            return None
        return pc.if_else(own, pc.binary_slice(raw, 0, _OBJECT), pa.scalar(None, pa.binary()))

    def _header_in(self, headers: Headers) -> bytes | None:
        """The value of the header that names the schema; of two the last one."""
        named = (value for name, value in reversed([*headers]) if name == self.header and value is not None)
        return next(named, None)

    def _of_mark(self, mark: bytes) -> bytes | None:
        """The prefix that stands for an object's first bytes; None where they mean no schema."""
        return header_bytes(self.ids[mark]) if mark in self.ids else None

    def _of_header(self, name: bytes) -> bytes | None:
        """The prefix that stands for a header's value; None where it means no schema."""
        size = _WITH_GUID if name.startswith(GUID) else HEADER
        schema_id = self.ids.get(name[:size]) if name.startswith(GUID) else _id(name)
        if schema_id is None:
            return None
        prefix = header_bytes(schema_id)
        return self._indexed(prefix + name[size:]) if self.indexed else prefix

    def _indexed(self, prefix: bytes) -> bytes | None:
        """A prefix with the indexes of a message; None where they end early. What follows is ignored."""
        try:
            return prefix[: header_of(prefix).end]
        except WireError:
            return None


def schema_header(half: str) -> str:
    """The header that may name the schema of a `key` or a `value`."""
    return f"__{half}_schema_id"


NOTHING = Naming()
"""Of a half without schemas, or without anything before and beside its payloads."""


def _id(name: bytes) -> int | None:
    return int.from_bytes(name[1:HEADER], "big") if name.startswith(ID) and len(name) >= HEADER else None


def _translated(found: pa.BinaryArray, meaning: Callable[[bytes], bytes | None]) -> pa.BinaryArray:
    """What each value means; null where there is none, or it means nothing."""
    import pyarrow as pa

    told = found.dictionary_encode()
    means = [meaning(name) for name in values_of(told.dictionary)]
    return pa.array(means, pa.binary()).take(told.indices)


def _last(names: pa.ListArray, values: pa.ListArray, name: str) -> pa.BinaryArray | None:
    """The value of each record's last header of a name; None where no record has one."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    every, told = names.flatten(), values.flatten()
    if not len(every):
        return None
    hits = np.flatnonzero(flags_of(pc.equal(every, name).fill_null(False)) & flags_of(told.is_valid()))
    if not len(hits):
        return None
    at = np.full(len(names), -1)
    at[pc.list_parent_indices(names).to_numpy()[hits]] = hits
    return told.take(pa.array(at, mask=at < 0))
