"""Decodes Protobuf by columns, in Spark's workers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.descriptor import Descriptor, FileDescriptor

from frazil.errors import SchemaRefusedError
from frazil.formats.bare import Bare
from frazil.formats.batches.named import named
from frazil.formats.columns.renames import bare_today
from frazil.formats.columns.unmappable import REFUSED, Unmappable
from frazil.formats.logical import Struct, misfit, relaxed, same_type
from frazil.formats.protobuf.descriptors import compiled, file_of, message_at
from frazil.formats.protobuf.generations import Generation, generations, reads, shared_columns
from frazil.formats.protobuf.messages import Messages, UpbMessages, messages_of
from frazil.formats.protobuf.schema import message_to_logical, record_message
from frazil.formats.protobuf.width import Width
from frazil.formats.protocol import (
    ArrowDecoder,
    DecodedBatch,
    HalfSchemas,
    Reason,
    WriterSchema,
)
from frazil.formats.types import arrow_type
from frazil.formats.wires.prefix import FIRST, Header, WireError, by_header, header_of, in_place


class ProtobufDecoder:
    """Decodes Protobuf records of one message type.

    That type is the first one of the newest schema, or `record_type`. Another one is a bad record,
    unless it becomes the same columns. Spark's workers must be able to import `frazil`.
    """

    def __init__(self, schemas: HalfSchemas) -> None:
        writers, subject = schemas.writers, schemas.subject
        unmappable = schemas.unmappable
        known = generations(writers, subject, schemas.record_type, unmappable, schemas.renames)
        self.columns = shared_columns(known)
        newest = record_message(writers[-1], subject, schemas.record_type)
        reasons = {w.schema_id: _misfit(w, subject, newest, self.columns, known, unmappable) for w in writers}
        self._recipe = ProtobufRecipe(
            descriptors=tuple(
                (w.schema_id, compiled(w, subject)) for w in reversed(writers) if not reasons[w.schema_id]
            ),
            record=newest.full_name,
            columns=self.columns,
            framed=schemas.framed,
            unreadable=tuple((schema_id, why) for schema_id, why in reasons.items() if why),
            unmappable=unmappable,
            renamed=tuple((i, own.record, own.today) for i, own in known.items() if own.then != own.today),
        )
        self.writers = tuple(schema_id for schema_id, _ in self._recipe.descriptors)

    def arrow(self) -> ArrowDecoder:
        """See `Decoder.arrow`."""
        return self._recipe

    def explain(self, raw: bytes) -> Reason:
        """See `Decoder.explain`."""
        return batches_of(self._recipe).explain(raw)

    def values(self, raw: bytes) -> Bare | None:
        """See `Decoder.values`."""
        return batches_of(self._recipe).values(raw)


def _misfit(
    writer: WriterSchema,
    subject: str,
    newest: Descriptor,
    columns: Struct,
    known: Mapping[int, Generation],
    unmappable: Unmappable,
) -> str:
    """Why records of a schema can't become the columns; empty where they can."""
    then = record_message(writer, subject, newest.full_name)
    try:
        message_to_logical(then, subject, unmappable)
        why = misfit(known[writer.schema_id].today, columns)
    except SchemaRefusedError as e:
        why = None if reads(newest, then) else e.where
    name = f"schema id {writer.schema_id} (version {writer.version})"
    return f"{name} can't be read by the newest version of subject {subject}: {why}" if why else ""


@dataclass(frozen=True, slots=True)
class ProtobufRecipe:
    """All that a worker needs, by schema id where there are several.

    `descriptors` are the readable schemas, newest first, each with what it imports; `unreadable` says why
    the others can't be read; `record` is the full name of the message that the table holds. `renamed` has the
    columns by today's names, and of which message, for versions that have other names.
    """

    descriptors: tuple[tuple[int, bytes], ...]
    record: str
    columns: Struct
    framed: bool
    unreadable: tuple[tuple[int, str], ...] = ()
    unmappable: Unmappable = REFUSED
    renamed: tuple[tuple[int, str, Struct], ...] = ()

    def decode(self, raw: pa.BinaryArray) -> DecodedBatch:
        """See `ArrowDecoder.decode`."""
        decoded = batches_of(self).decode(raw)
        return DecodedBatch(*(decoded.field(name) for name in ("d", "ok", "w")))

    @property
    def places_per_byte(self) -> float:
        """See `ArrowDecoder.places_per_byte`."""
        return batches_of(self).places_per_byte


@dataclass(frozen=True, slots=True)
class Message:
    """A kind of message that becomes rows; `today` are its columns by today's names."""

    type: Descriptor
    columns: Struct
    decoder: Messages
    width: Width
    today: Struct

    @classmethod
    def of(cls, message: Descriptor, columns: Struct, today: Struct | None = None) -> Message:
        """The one of a descriptor."""
        return cls(message, columns, messages_of(message, columns), Width(message), today or columns)

    def row(self, payload: bytes) -> Bare | Reason:
        """One payload's columns, or why it has none, by google.protobuf alone."""
        fault = self.width.fault(payload)
        row = fault or UpbMessages(self.type, self.columns).row(payload)
        return row if isinstance(row, tuple) else bare_today(row, self.columns, self.today)

    def decode(self, payloads: pa.Array) -> tuple[pa.StructArray, np.ndarray]:
        """The rows of payloads, and which of them are good."""
        good, too_wide = np.ones(len(payloads), bool), list(self.width.too_wide(payloads))
        if too_wide:
            good[too_wide] = False
            payloads = pc.if_else(pa.array(good), payloads, pa.scalar(b"", payloads.type))
        rows, reasons = self.decoder.decode(payloads)
        good[list(reasons)] = False
        return named(rows.cast(arrow_type(self.columns)), arrow_type(self.today)), good


class ProtobufBatches:
    """Decodes batches; keeps a decoder for each kind of message that it met."""

    def __init__(self, recipe: ProtobufRecipe) -> None:
        self._recipe = recipe
        self._type = arrow_type(recipe.columns)
        self._places = {schema_id: i for i, (schema_id, _) in enumerate(recipe.descriptors)}
        self._files = {schema_id: file_of(descriptor) for schema_id, descriptor in recipe.descriptors}
        self._today = {(schema_id, record): today for schema_id, record, today in recipe.renamed}
        self._known: dict[tuple[int, tuple[int, ...]], Message | Reason] = {}

    def decode(self, raw: pa.Array) -> pa.StructArray:
        """One struct per record: `d` (the columns), `ok`, and `w`, the place of the writer."""
        parts = []
        for header, group in self._groups(raw):
            payloads = _cut(raw if len(group) == len(raw) else raw.take(pa.array(group)), header.end)
            parts.append((group, self._part(header.schema_id, header.indexes, payloads)))
        if len(parts) == 1 and len(parts[0][1]) == len(raw):
            return parts[0][1]
        return in_place(parts, len(raw), self._none())

    @cached_property
    def places_per_byte(self) -> float:
        """Of the message that the table holds, by the newest schema."""
        newest = next(iter(self._files.values()))
        return Width(newest.pool.FindMessageTypeByName(self._recipe.record)).most

    def explain(self, raw: bytes) -> Reason:
        """Why `decode` finds a record bad, by google.protobuf alone."""
        row = self._row(raw)
        return row if isinstance(row, tuple) else ("value", "a value is outside its type")

    def values(self, raw: bytes) -> Bare | None:
        """See `Decoder.values`."""
        row = self._row(raw)
        return None if isinstance(row, tuple) else row

    def _row(self, raw: bytes) -> Bare | Reason:
        try:
            header = self._header(raw)
        except WireError as e:
            return e.reason
        known = self._messages(header.schema_id, header.indexes)
        if not isinstance(known, Message):
            return known
        return known.row(raw[header.end :])

    def _header(self, raw: bytes) -> Header:
        return header_of(raw) if self._recipe.framed else Header(self._recipe.descriptors[0][0], FIRST, 0)

    def _groups(self, raw: pa.Array) -> Iterable[tuple[Header, np.ndarray]]:
        if self._recipe.framed:
            return by_header(raw, self._places)
        return [(self._header(b""), pc.indices_nonzero(raw.is_valid()).to_numpy())]

    def _part(self, schema_id: int, indexes: tuple[int, ...], payloads: pa.Array) -> pa.StructArray:
        known = self._messages(schema_id, indexes)
        if not isinstance(known, Message):
            return self._none(len(payloads))
        rows, good = known.decode(payloads)
        writer = pa.array(np.full(len(payloads), self._places[schema_id], np.int32))
        return pa.StructArray.from_arrays(
            [rows.cast(self._type), pa.array(good), writer], names=["d", "ok", "w"]
        )

    def _none(self, rows: int = 1) -> pa.StructArray:
        kind = pa.struct([("d", self._type), ("ok", pa.bool_()), ("w", pa.int32())])
        return pa.array([{"ok": False}] * rows, kind)

    def _messages(self, schema_id: int, indexes: tuple[int, ...]) -> Message | Reason:
        """The kind of message that a header names, or why it is no row."""
        key = schema_id, indexes
        if key not in self._known:
            self._known[key] = self._find(schema_id, indexes)
        return self._known[key]

    def _find(self, schema_id: int, indexes: tuple[int, ...]) -> Message | Reason:
        if schema_id not in self._files:
            known = dict(self._recipe.unreadable)
            return "schema_id", known.get(schema_id, f"schema id {schema_id} is not of this subject")
        message = self._message(self._files[schema_id], indexes)
        if message is None:
            return "message_indexes", f"schema {schema_id} has no message at {list(indexes)}"
        name = f"message {message.full_name} of schema {schema_id}"
        try:
            columns = message_to_logical(message, name, self._recipe.unmappable)
        except SchemaRefusedError as e:
            return self._by_the_newest(message) or ("message_type", f"{name} can't become a row: {e.where}")
        today = self._today.get((schema_id, message.full_name), columns)
        wanted, is_record = self._recipe.columns, message.full_name == self._recipe.record
        alike = same_type(today, wanted) and relaxed(wanted, today) == wanted
        if misfit(today, wanted) if is_record else not alike:
            return "message_type", f"{name} is not {self._recipe.record}, which the table holds"
        return Message.of(message, columns, today)

    def _by_the_newest(self, message: Descriptor) -> Message | None:
        """The newest schema's message, where it reads one of an older that can't be a table by itself."""
        newest = next(iter(self._files.values())).pool.FindMessageTypeByName(self._recipe.record)
        if not reads(newest, message):
            return None
        columns = message_to_logical(newest, newest.full_name, self._recipe.unmappable)
        return Message.of(newest, columns)

    def _message(self, file: FileDescriptor, indexes: tuple[int, ...]) -> Descriptor | None:
        if self._recipe.framed:
            return message_at(file, indexes)
        return file.pool.FindMessageTypeByName(self._recipe.record)


@lru_cache(maxsize=64)
def batches_of(recipe: ProtobufRecipe) -> ProtobufBatches:
    """The decoder of a recipe: one per process, for building it costs more than a small batch."""
    return ProtobufBatches(recipe)


def _cut(raw: pa.Array, start: int) -> pa.Array:
    # Without a stop pyarrow 26 fails: "Negative buffer resize".
    return pc.binary_slice(raw, start, 2**31 - 1) if start else raw
