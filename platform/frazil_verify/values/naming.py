"""What names the schema of a payload beside its prefix: docs/formats.md, "How a record names its schema"."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

from frazil_verify.values.bad import BadRecordError, NotComparedError

Headers = Sequence[tuple[str, bytes | None]]
"""Of one record, in order."""

_SINGLE_OBJECT = b"\xc3\x01"
_OF_APICURIO = ("content", "global")
_ID, _GUID = (b"\0", 5), (b"\1", 17)
"""What begins a header of Confluent's, and the bytes up to its end or to Protobuf's message indexes."""


def schema_header(headers: Headers, word: str) -> bytes | None:
    """Confluent's header for the schema of a `key` or a `value`; of two the last one."""
    return dict(_there(headers)).get(f"__{word}_schema_id")


def check_named(payload: bytes, headers: Headers, word: str) -> None:
    """Raises NotComparedError where Apicurio's headers or a fingerprint name the schema."""
    names = dict(_there(headers))
    if payload.startswith(_SINGLE_OBJECT) or any(f"apicurio.{word}.{n}Id" in names for n in _OF_APICURIO):
        raise NotComparedError("a schema that no prefix names")


def id_of(header: bytes, ids: Mapping[int, str]) -> tuple[int, bytes]:
    """The schema id that a header of Confluent's names, and what follows it there.

    Args:
        header: Its value.
        ids: Those of the subject, each with its GUID, which is empty where the registry tells none.

    Raises:
        BadRecordError: It names no schema of the subject.
    """
    if header.startswith(_ID[0]) and len(header) >= _ID[1]:
        return int.from_bytes(header[1 : _ID[1]], "big"), header[_ID[1] :]
    if header.startswith(_GUID[0]) and len(header) >= _GUID[1]:
        wanted = str(uuid.UUID(bytes=header[1 : _GUID[1]]))
        for number, guid in ids.items():
            if guid == wanted:
                return number, header[_GUID[1] :]
    raise BadRecordError("a header that names no schema of the subject")


def _there(headers: Headers) -> Sequence[tuple[str, bytes]]:
    return [(name, value) for name, value in headers if value is not None]
