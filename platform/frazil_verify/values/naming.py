"""What names the schema of a payload: docs/formats.md, "How a record names its schema"."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import fastavro

from frazil_verify.log.registry import Schemas
from frazil_verify.request import Half
from frazil_verify.values.bad import BadRecordError
from frazil_verify.values.protobuf import only_indexes

Headers = Sequence[tuple[str, bytes]]
"""Those of one record that have a value, in order."""

_PREFIX, _LONG_PREFIX, _GUID = 5, 9, 17
_SINGLE_OBJECT, _MARK = b"\xc3\x01", 10
"""Begins an object of Avro's of its own, and the bytes up to its payload."""


@dataclass(frozen=True)
class Naming:
    """Of several things that may name the schema, the first counts: a header, then the payload's first bytes.

    Args:
        word: `key` or `value`, in the names of headers.
        is_protobuf: Whether the schemas are, so that message indexes stand behind an id.
    """

    schemas: Schemas
    half: Half
    word: str
    is_protobuf: bool

    def split(self, payload: bytes, headers: Headers = ()) -> tuple[int, bytes]:
        """The schema id of a payload, and its bytes, with Protobuf's message indexes before them.

        Raises:
            BadRecordError: Nothing names a schema, or a header names none of the subject.
        """
        if not headers:
            return self._of_first_bytes(payload)
        there = dict(headers)
        if (header := there.get(f"__{self.word}_schema_id")) is not None:
            number, indexes = self._of_header(header)
            is_indexed = self.is_protobuf and number not in self.strange
            return number, only_indexes(indexes) + payload if is_indexed else payload
        if (header := there.get(f"apicurio.{self.word}.contentId")) is not None:
            return self._of_apicurio(header, "content"), payload
        if (header := there.get(f"apicurio.{self.word}.globalId")) is not None:
            return self._of_apicurio(header, "global"), payload
        return self._of_first_bytes(payload)

    def is_of_another_table(self, payload: bytes, headers: Headers) -> bool:
        """Whether something names a schema of another table's records."""
        try:
            return self.split(payload, headers)[0] in self.strange
        except BadRecordError:
            return False

    @cached_property
    def strange(self) -> frozenset[int]:
        """The ids of schemas of other tables' records on the topic."""
        return frozenset(number for subject in self.half.others for number in self.schemas.ids(subject))

    def _of_header(self, header: bytes) -> tuple[int, bytes]:
        """What Confluent's header names: an id behind a zero, or a GUID behind a one."""
        if header.startswith(b"\0") and len(header) >= _PREFIX:
            return int.from_bytes(header[1:_PREFIX], "big"), header[_PREFIX:]
        if header.startswith(b"\1") and len(header) >= _GUID:
            number = self._guids.get(str(uuid.UUID(bytes=header[1:_GUID])))
            if number is not None:
                return number, header[_GUID:]
        raise BadRecordError("a header that names no schema of the subject")

    def _of_apicurio(self, value: bytes, kind: str) -> int:
        """The id of a content in eight bytes, or of that which a global id is of; not of Protobuf."""
        written = int.from_bytes(value, "big")
        number = self._global_ids.get(written) if kind == "global" else written
        is_read = not self.is_protobuf or number in self.strange
        if number is None or len(value) != _LONG_PREFIX - 1 or not is_read:
            raise BadRecordError("an id of Apicurio's that names no schema of the subject")
        return number

    def _of_first_bytes(self, payload: bytes) -> tuple[int, bytes]:
        if payload.startswith(_SINGLE_OBJECT) and payload[:_MARK] in self._marks:
            return self._marks[payload[:_MARK]], payload[_MARK:]
        long = self.half.eight_byte_ids
        if long != "none" and payload.startswith(bytes(_PREFIX)):
            return self._of_apicurio(payload[1:_LONG_PREFIX], long), payload[_LONG_PREFIX:]
        if len(payload) < _PREFIX or payload[0]:
            raise BadRecordError("no schema id stands before it")
        return int.from_bytes(payload[1:_PREFIX], "big"), payload[_PREFIX:]

    @property
    def _subjects(self) -> tuple[str, ...]:
        """Those whose schemas records may name, its own the last one: it counts where two have an id."""
        return *self.half.others, self.half.subject

    @cached_property
    def _guids(self) -> Mapping[str, int]:
        return {guid: number for s in self._subjects for number, guid in self.schemas.ids(s).items() if guid}

    @cached_property
    def _global_ids(self) -> Mapping[int, int]:
        return {n: content for s in self._subjects for n, content in self.schemas.global_ids(s).items()}

    @cached_property
    def _marks(self) -> Mapping[bytes, int]:
        """The ids of Avro's schemas that refer to no others, by what begins an object of its own."""
        known = (self.schemas.by_id(number) for s in self._subjects for number in self.schemas.ids(s))
        plain = (each for each in known if each is not None and each.kind == "AVRO" and not each.references)
        return {_SINGLE_OBJECT + _fingerprint(each.text): each.id for each in plain}


def _fingerprint(text: str) -> bytes:
    canonical = fastavro.schema.to_parsing_canonical_form(json.loads(text))
    return bytes.fromhex(fastavro.schema.fingerprint(canonical, "CRC-64-AVRO"))
