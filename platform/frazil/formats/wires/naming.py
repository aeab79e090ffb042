"""What names the schema of a payload where Confluent's prefix does not: a header, or other first bytes.

Such a payload is given the prefix that it lacks before it is decoded, so that decoders know one wire. Records
of all wires may lie on one topic. Sources: Confluent's `HeaderSchemaIdSerializer` and
`DualSchemaIdDeserializer` (schema-serializer, 8.0), Apicurio's `KafkaSerdeHeaders` (3.3), Azure's
`KafkaAvroSerializer` (azure-schemaregistry-kafka-avro), and for objects of their own
https://avro.apache.org/docs/1.12.0/specification/#single-object-encoding.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from frazil.exact import flags_of, values_of
from frazil.formats.protocol import Reason
from frazil.formats.wires.glue import GlueWire
from frazil.formats.wires.prefix import HEADER, WireError, header_bytes, header_of

if TYPE_CHECKING:
    import pyarrow as pa

CONTENT_TYPE = "content-type"
"""The header by which Azure's serializer names the schema of a value."""

Headers = Iterable[tuple[str, bytes | None]]
"""Of one record, in order."""

Meaning = Callable[[bytes], bytes | None]
"""Gives the prefix that stands for what names a schema; None where it means none."""

SCHEMA_HEADER = "schema_header"
"""Code of a reason: a header names a schema that nobody knows; of keys behind `key_`."""

SINGLE_OBJECT = b"\xc3\x01"
"""Begins an Avro object of its own; eight bytes of a fingerprint follow."""

ID, GUID = b"\0", b"\1"
"""Begin a header with a schema's id in four bytes, or with its GUID in sixteen."""

GLOBAL = b"\2"
"""Begins what stands for Apicurio's global id, which a header has in eight bytes."""

AZURE = b"avro/binary+"
"""Begins the content type of a record by Azure's serializer; a schema's id follows, in hexadecimal digits."""

LONG = bytes(5)
"""Begins a payload behind an id of eight bytes, the first four of them zero. No schema has the id zero."""

_WITH_GUID = 17  # bytes of a GUID with what it begins with

_MARKS = {SINGLE_OBJECT: 10, LONG: 9}
"""What begins a payload that names its schema by its first bytes, and how many these are."""


@dataclass(frozen=True, slots=True)
class Naming:
    """What may name the schemas of one half beside the prefix; nothing, where it has no schemas.

    Where several things do, the first counts: Confluent's header, Apicurio's, the payload's first bytes.

    Args:
        half: `key` or `value`, in the names of headers; empty where nothing may.
        subject: For people.
        ids: Schema ids by what names them: a GUID as it stands in the header, a global id behind `GLOBAL`, or
            a payload's first bytes.
        indexed: Whether the indexes of a message follow, as in Protobuf.
        glue: The wire of Glue's registry, where the schemas are of it.
        others: Ids of schemas of other tables: their records get a prefix too, by which they are left out.
    """

    half: str = ""
    subject: str = ""
    ids: Mapping[bytes, int] = field(default_factory=dict)
    indexed: bool = False
    glue: GlueWire | None = None
    others: frozenset[int] = frozenset()

    def prefixed(self, raw: pa.BinaryArray, names: pa.ListArray, values: pa.ListArray) -> pa.BinaryArray:
        """Payloads behind Confluent's prefix, whatever named their schemas; empty where it names none.

        Args:
            raw: One half of records; null where they have none.
            names: Of each record's headers.
            values: Of the same headers.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.glue:
            return self.glue.prefixed(raw)
        there = set(values_of(pc.unique(names.flatten())))  # one look: most batches have none of them
        halves = [
            (_last(names, values, name), meaning) for name, meaning in self._headers.items() if name in there
        ]
        named = [values for values, _ in halves if values is not None]
        marks = self._marks(raw, named)
        if not named and not marks:
            return raw
        prefix = pa.nulls(len(raw), pa.binary())
        is_named = pa.array([False] * len(raw))
        for each, meaning in (*halves, *((mark, self._of_mark) for mark in marks.values())):
            if each is not None:
                known = pc.if_else(is_named, None, _translated(each, meaning))
                prefix, is_named = pc.coalesce(prefix, known), pc.or_(is_named, each.is_valid())
        for begin, mark in marks.items():
            raw = pc.if_else(mark.is_valid(), pc.binary_slice(raw, _MARKS[begin], 2**31 - 1), raw)
        # What names no schema that is known must not be taken for a prefix: no decoder takes what is empty.
        is_unknown = pc.and_(pc.and_(is_named, prefix.is_null()), raw.is_valid())
        return pc.binary_join_element_wise(prefix.fill_null(b""), pc.if_else(is_unknown, b"", raw), b"")

    def prefixed_one(self, raw: bytes, headers: Headers) -> bytes:
        """The same of one payload."""
        if self.glue:
            return self.glue.prefixed_one(raw)
        if named := self._header_in(headers):
            name, value = named
            prefix, payload = self._headers[name](value), raw
        elif begin := self._begin_of(raw):
            size = _MARKS[begin]
            prefix, payload = self._of_mark(raw[:size]), raw[size:]
        else:
            return raw
        return b"" if prefix is None else prefix + payload

    def reason(self, raw: bytes, headers: Headers) -> Reason | None:
        """Why a payload's schema is not known though something names it; None where nothing is amiss."""
        if self.glue:
            reason = self.glue.reason(raw)
            return (f"key_{reason[0]}", f"key: {reason[1]}") if reason and self.half == "key" else reason
        if named := self._header_in(headers):
            name, value = named
            if self._headers[name](value) is not None:
                return None
            return f"{'key_' if self.half == 'key' else ''}{SCHEMA_HEADER}", self._why(name, value)
        begin = self._begin_of(raw)
        if begin is None or self._of_mark(mark := raw[: _MARKS[begin]]) is not None:
            return None
        number = int.from_bytes(mark[-4:], "big")
        what = f"fingerprint {mark[2:].hex()}" if begin == SINGLE_OBJECT else f"id {number} of eight bytes"
        return "schema_id", f"{what} is of no version of subject {self.subject}"

    def _why(self, name: str, value: bytes) -> str:
        """Why a header's value names no schema."""
        if name == f"apicurio.{self.half}.globalId" and not self.indexed:
            if any(known.startswith(GLOBAL) for known in self.ids):
                return (
                    f"header {name} is {int.from_bytes(value, 'big')}, which is not of subject {self.subject}"
                )
            return (
                f"header {name} is a global id, and this registry tells none of subject {self.subject}: set "
                "apicurio.registry.use-id to contentId"
            )
        if name == CONTENT_TYPE:
            text = value.decode(errors="replace")
            return f"header {name} is {text!r:.80}, which is no version of {self.subject}"
        if self.indexed and name.startswith("apicurio."):
            return (
                f"header {name} is of Apicurio's own Protobuf, which is not read: use Confluent's serializer"
            )
        if not value.startswith(GUID) or len(value) < _WITH_GUID or value[:_WITH_GUID] in self.ids:
            return f"header {name} holds bytes that name no schema: {value[:20].hex()}"
        guid, prefix = uuid.UUID(bytes=value[1:_WITH_GUID]), f"{self.half}.schema.id.serializer"
        if any(known.startswith(GUID) for known in self.ids):
            return f"header {name} names schema {guid}, which is not of subject {self.subject}"
        return (
            f"header {name} names schema {guid}, and this registry tells no GUIDs: have the producer "
            f"put the id before the payload ({prefix}: PrefixSchemaIdSerializer)"
        )

    @property
    def _headers(self) -> Mapping[str, Meaning]:
        """What each header means, those first that count before others."""
        if any(name.startswith(AZURE) for name in self.ids):
            return {CONTENT_TYPE: self._of_content_type}
        meanings: tuple[Meaning, ...] = (self._of_header, self._of_content_id, self._of_global_id)
        return dict(zip(schema_headers(self.half), meanings, strict=True)) if self.half else {}

    @property
    def _begins(self) -> tuple[bytes, ...]:
        """What begins payloads that name a schema that is known; which no other one can begin with."""
        return tuple(begin for begin in _MARKS if any(name.startswith(begin) for name in self.ids))

    def _begin_of(self, raw: bytes) -> bytes | None:
        return next((begin for begin in self._begins if raw.startswith(begin)), None)

    def _marks(self, raw: pa.BinaryArray, named: Sequence[pa.BinaryArray]) -> dict[bytes, pa.BinaryArray]:
        """The first bytes of payloads that no header names, null of others, by what they begin with."""
        import pyarrow as pa
        import pyarrow.compute as pc

        marks = {}
        for begin in self._begins:
            own = pc.starts_with(raw, begin).fill_null(False)
            for each in named:
                own = pc.and_not(own, each.is_valid())
            if flags_of(own).any():
                first = pc.binary_slice(raw, 0, _MARKS[begin])
                marks[begin] = pc.if_else(own, first, pa.scalar(None, pa.binary()))
        return marks

    def _header_in(self, headers: Headers) -> tuple[str, bytes] | None:
        """The header that names the schema, and its value; of two of one name the last one."""
        there = {name: value for name, value in headers if value is not None}
        return next(((name, there[name]) for name in self._headers if name in there), None)

    def _of_mark(self, mark: bytes) -> bytes | None:
        """The prefix that stands for a payload's first bytes; None where they mean no schema."""
        return header_bytes(self.ids[mark]) if mark in self.ids else None

    def _of_header(self, name: bytes) -> bytes | None:
        """The prefix that stands for a header's value; None where it means no schema."""
        size = _WITH_GUID if name.startswith(GUID) else HEADER
        schema_id = self.ids.get(name[:size]) if name.startswith(GUID) else _id(name)
        if schema_id is None:
            return None
        prefix = header_bytes(schema_id)
        is_indexed = self.indexed and schema_id not in self.others
        return self._indexed(prefix + name[size:]) if is_indexed else prefix

    def _of_content_id(self, value: bytes) -> bytes | None:
        """The prefix that stands for Apicurio's id of a content: its Confluent API has the same ids."""
        number = int.from_bytes(value, "big")
        is_read = not self.indexed or number in self.others
        return header_bytes(number) if len(value) == 8 and number < 2**32 and is_read else None

    def _of_global_id(self, value: bytes) -> bytes | None:
        """The prefix that stands for Apicurio's global id; None where it is of another subject."""
        schema_id = self.ids.get(GLOBAL + value)
        is_read = not self.indexed or schema_id in self.others
        return header_bytes(schema_id) if schema_id is not None and is_read else None

    def _of_content_type(self, value: bytes) -> bytes | None:
        """The prefix that stands for Azure's content type; None where it names no version of the schema."""
        schema_id = self.ids.get(value.replace(b"-", b"").lower())
        return None if schema_id is None else header_bytes(schema_id)

    def _indexed(self, prefix: bytes) -> bytes | None:
        """A prefix with the indexes of a message; None where they end early. What follows is ignored."""
        try:
            return prefix[: header_of(prefix).end]
        except WireError:
            return None


def schema_headers(half: str) -> tuple[str, ...]:
    """The headers that may name the schema of a `key` or a `value`: Confluent's, and Apicurio's two."""
    return f"__{half}_schema_id", f"apicurio.{half}.contentId", f"apicurio.{half}.globalId"


NOTHING = Naming()
"""Of a half without schemas, or without anything before and beside its payloads."""


def _id(name: bytes) -> int | None:
    return int.from_bytes(name[1:HEADER], "big") if name.startswith(ID) and len(name) >= HEADER else None


def _translated(names: pa.BinaryArray, meaning: Meaning) -> pa.BinaryArray:
    """What each value means; null where there is none, or it means nothing."""
    import pyarrow as pa

    encoded = names.dictionary_encode()
    means = [meaning(name) for name in values_of(encoded.dictionary)]
    return pa.array(means, pa.binary()).take(encoded.indices)


def _last(names: pa.ListArray, values: pa.ListArray, name: str) -> pa.BinaryArray | None:
    """The value of each record's last header of a name; None where no record has one."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    every, contents = names.flatten(), values.flatten()
    hits = np.flatnonzero(flags_of(pc.equal(every, name).fill_null(False)) & flags_of(contents.is_valid()))
    if not len(hits):
        return None
    at = np.full(len(names), -1)
    at[pc.list_parent_indices(names).to_numpy()[hits]] = hits
    return contents.take(pa.array(at, mask=at < 0))
