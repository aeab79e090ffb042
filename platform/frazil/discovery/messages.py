"""Which message of a Protobuf schema records are of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from frazil.discovery.looks import is_framed
from frazil.formats.protobuf.descriptors import compiled, file_of, message_at
from frazil.formats.protocol import WriterSchema
from frazil.formats.wires.prefix import WireError, header_of

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FileDescriptor

_SURE = 0.999
"""Share of the bytes that a message's fields must account for."""


def first_message(writer: WriterSchema, subject: str) -> str:
    """The full name of the file's first message, which a table holds unless its spec names another."""
    message = message_at(file_of(compiled(writer, subject)), (0,))
    return message.full_name if message else ""


def named_messages(writers: Sequence[WriterSchema], subject: str, values: Sequence[bytes]) -> list[str]:
    """The messages that the headers of records name, the commonest first."""
    files = {w.schema_id: file_of(compiled(w, subject)) for w in writers}
    counts: Counter[str] = Counter()
    for value in values:
        with suppress(WireError):
            header = header_of(value)
            file = files.get(header.schema_id)
            if file and (message := message_at(file, header.indexes)):
                counts[message.full_name] += 1
    return [name for name, _ in counts.most_common()]


def likely_messages(writer: WriterSchema, subject: str, payloads: Sequence[bytes]) -> list[str]:
    """The messages that account for all bytes of payloads without a header, in the order of the file.

    The best one alone where none accounts for all of them, and nothing where none can read them.
    """
    shares = {m.full_name: _share(m, payloads) for m in _messages(file_of(compiled(writer, subject)))}
    sure = [name for name, share in shares.items() if share >= _SURE]
    best = max(shares, key=lambda name: shares[name], default="")
    return sure or ([best] if shares.get(best) else [])


def _messages(file: FileDescriptor) -> Iterator[Descriptor]:
    waiting = list(file.message_types_by_name.values())
    while waiting:
        message = waiting.pop(0)
        if not message.GetOptions().map_entry:
            yield message
            waiting += message.nested_types


def _share(message: Descriptor, payloads: Sequence[bytes]) -> float:
    """Of the bytes how many stand in fields that the message declares; 0 where it can't read a payload."""
    from google.protobuf.message import DecodeError
    from google.protobuf.message_factory import GetMessageClass

    kind, known = GetMessageClass(message), 0
    for payload in payloads:
        try:
            decoded = kind.FromString(payload)
        except DecodeError:
            continue
        decoded.DiscardUnknownFields()
        known += decoded.ByteSize() if decoded.IsInitialized() else 0
    return known / max(sum(map(len, payloads)), 1)


def has_header(value: bytes, writers: Sequence[WriterSchema]) -> bool:
    """Whether a value names one of these schemas."""
    return is_framed(value) and int.from_bytes(value[1:5], "big") in {w.schema_id for w in writers}
