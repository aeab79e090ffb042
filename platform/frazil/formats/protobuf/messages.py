"""Protobuf payloads to rows: by ptars, batch by batch; google.protobuf, row by row, is the judge.

ptars raises for a whole batch, without a place: such a batch is halved. And it takes some damaged
payloads that google.protobuf refuses, or reads them otherwise. So each row is written again and must
give the bytes that it came from: proof that nothing in them was passed over. Where producers write
otherwise than ptars does (repeated numbers one by one, as proto2 has it), google.protobuf reads them all.
"""

from __future__ import annotations

import base64
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from ptars import HandlerPool, PtarsConfig

from frazil.exact import values_of
from frazil.formats.columns.unmappable import digits_text, json_text
from frazil.formats.logical import Struct, Type, holds_json, is_json
from frazil.formats.protobuf import schema as pb
from frazil.formats.protobuf import well_known
from frazil.formats.protobuf.shapes import columns_array, shapes_of
from frazil.formats.protocol import Reason
from frazil.formats.types import arrow_type
from frazil.formats.wires.prefix import in_place

_MOST = 2**63
_DAMAGED = "payload", "the payload is cut off, damaged, or has text that is not UTF-8"
_FEW, _SOME = 16, 1024
"""Few rows are read one by one; among some, bad ones are searched; more than these are halved."""

Decoded = tuple["pa.StructArray", dict[int, Reason]]


class Messages(Protocol):
    """Decodes payloads of one message type."""

    def decode(self, payloads: pa.Array) -> Decoded:
        """Columns by `message_to_logical`, one row per payload, and by place why some of them are no rows.

        Payloads have no nulls. At the place of a bad one stands any row.
        """


class UpbMessages:
    """Decodes payloads of one message type, row by row; see `Messages`."""

    def __init__(self, message: Descriptor, columns: Struct) -> None:
        self._class = GetMessageClass(message)
        self._type, self._columns = arrow_type(columns), columns
        self._walk = _Walk()

    def decode(self, payloads: pa.Array) -> Decoded:
        """See `Messages.decode`."""
        rows: list[Any] = []
        reasons: dict[int, Reason] = {}
        for place, payload in enumerate(values_of(payloads)):
            row = self.row(payload)
            rows.append(None if isinstance(row, tuple) else row)
            if isinstance(row, tuple):
                reasons[place] = row
        return pa.array(rows, self._type), reasons

    def refused(self, payloads: pa.Array) -> dict[int, Reason]:
        """The places of the payloads that can't be parsed at all."""
        reasons = {}
        for place, payload in enumerate(values_of(payloads)):
            try:
                self._class.FromString(payload)
            except DecodeError:
                reasons[place] = _DAMAGED
        return reasons

    def row(self, payload: bytes) -> dict[str, Any] | Reason:
        """One payload's columns, or why it has none."""
        try:
            message = self._class.FromString(payload)
            if missing := message.FindInitializationErrors():
                return "required", f"required fields are missing: {', '.join(missing)}"
            return self._walk.columns(message, self._columns)
        except UnicodeDecodeError as e:
            return "utf8", f"a string is not UTF-8: {e.reason}"
        except DecodeError:
            return _DAMAGED
        except (ValueError, OverflowError) as e:
            return "range", f"a value is outside its type: {e!s:.200}"


class _Walk:
    """From messages to Python values, as `pyarrow.array` takes them."""

    def __init__(self) -> None:
        self._plans: dict[str, Any] = {}

    def columns(self, message: Any, kind: Struct) -> dict[str, Any]:
        """The columns of a message, by their types."""
        regular, choices = self._plan(message.DESCRIPTOR)
        types = {field.name: field.type for field in kind}
        values = {f.name: self._field(message, f, types[f.name]) for f in regular}
        for oneof, members in choices:
            values[oneof] = self._oneof(message, oneof, members, types[oneof])
        return values

    def _oneof(self, message: Any, oneof: str, members: list[FieldDescriptor], kind: Type) -> Any:
        chosen, types = message.WhichOneof(oneof), {field.name: field.type for field in kind.fields}
        return chosen and {
            f.name: self._single(f, getattr(message, f.name), types[f.name]) if f.name == chosen else None
            for f in members
        }

    def _plan(self, message: Descriptor) -> Any:
        if message.full_name not in self._plans:
            choices = [(o.name, list(o.fields)) for o in pb.oneofs(message)]
            self._plans[message.full_name] = pb.regular_fields(message), choices
        return self._plans[message.full_name]

    def _field(self, message: Any, field: FieldDescriptor, kind: Type) -> Any:
        value = getattr(message, field.name)
        if not field.is_repeated:
            present = not field.has_presence or message.HasField(field.name)
            return self._single(field, value, kind) if present else None
        if not pb.is_entry(field):
            return [self._single(field, v, kind.fields[0].type) for v in value]
        key, item = field.message_type.fields
        of_key, of_item = (part.type for part in kind.fields)
        if field.message_type.GetOptions().map_entry:
            pairs = {k: value[k] for k in value}.items()
            return [(self._single(key, k, of_key), self._single(item, v, of_item)) for k, v in pairs]
        return list({self._field(e, key, of_key): self._field(e, item, of_item) for e in value}.items())

    def _single(self, field: FieldDescriptor, value: Any, kind: Type) -> Any:
        if field.message_type is not None:
            return _text(field, value) if is_json(kind) else self._message(field, value, kind)
        if field.enum_type is not None:
            symbol = field.enum_type.values_by_number.get(value)
            return symbol.name if symbol else str(value)
        if isinstance(value, bytes) and field.type == field.TYPE_STRING:
            value.decode()  # the bytes, where the schema says that nobody checks them: this raises
        if field.type in pb.UNSIGNED_LONG and value >= _MOST:
            raise ValueError(f"{field.full_name} is {value}, above 2^63-1")
        return value

    def _message(self, field: FieldDescriptor, value: Any, kind: Type) -> Any:
        name = field.message_type.full_name
        parts = field.message_type.fields
        if name in well_known.WRAPPERS:
            return self._single(parts[0], value.value, kind)
        if name == well_known.DECIMAL:
            of = well_known.decimal_of(field)
            assert of is not None
            return well_known.decimal_value(of, value.value, value.scale)
        if name in well_known.KNOWN:
            return well_known.KNOWN[name][1](*(getattr(value, part.name) for part in parts))
        if payload := pb.payload_of(field):
            if hasattr(payload, "fields"):
                return self._oneof(value, payload.name, list(payload.fields), kind)
            return self._field(value, payload, kind)
        assert isinstance(kind, Struct)
        return self.columns(value, kind)


def _text(field: FieldDescriptor, value: Any) -> str:
    """What stands for a message that has no column: its JSON, or the digits of a decimal."""
    if field.message_type.full_name == well_known.DECIMAL and well_known.decimal_of(field):
        return digits_text(value.value or b"\0", value.scale)
    return _message_text(value)


class PtarsMessages:
    """Decodes payloads of one message type, whose file must not use editions; see `Messages`."""

    def __init__(self, message: Descriptor, columns: Struct) -> None:
        shapes = shapes_of(message.file)
        shape = shapes.pool.FindMessageTypeByName(f"frazil_shapes.{message.full_name}")
        self._handler = HandlerPool([shapes], PtarsConfig()).get_for_message(shape)
        self._message, self._type = message, arrow_type(columns)
        self._careful = UpbMessages(message, columns)

    def decode(self, payloads: pa.Array) -> Decoded:
        """See `Messages.decode`."""
        parts: list[pa.StructArray] = [pa.array([], self._type)]
        reasons: dict[int, Reason] = {}
        ranges = [(0, len(payloads))]
        while ranges:
            start, end = ranges.pop()
            decoded = self._range(payloads.slice(start, end - start))
            if decoded is None:
                middle = (start + end) // 2
                ranges += [(middle, end), (start, middle)]
                continue
            parts.append(decoded[0])
            reasons |= {start + place: reason for place, reason in decoded[1].items()}
        return pa.concat_arrays(parts), reasons

    def _range(self, payloads: pa.Array) -> Decoded | None:
        try:
            return self._fast(payloads)
        except BaseException as e:
            # A panic in Rust is no Exception, and has no class that could be named.
            if isinstance(e, KeyboardInterrupt | SystemExit | GeneratorExit | MemoryError):
                raise
        if len(payloads) <= _FEW:
            return self._careful.decode(payloads)
        return self._sifted(payloads) if len(payloads) <= _SOME else None

    def _sifted(self, payloads: pa.Array) -> Decoded | None:
        """The batch without payloads that google.protobuf can't parse either; None where it parses all."""
        refused = self._careful.refused(payloads)
        if not refused:
            return None
        kept = np.setdiff1d(np.arange(len(payloads)), list(refused))
        rows, reasons = self.decode(payloads.take(pa.array(kept)))
        merged = in_place([(kept, rows)], len(payloads), pa.nulls(1, rows.type))
        return merged, refused | {int(kept[place]): reason for place, reason in reasons.items()}

    def _fast(self, payloads: pa.Array) -> Decoded:
        batch = self._handler.array_to_record_batch(payloads)
        again = self._handler.record_batch_to_array(batch)
        unproven = pc.indices_nonzero(pc.not_equal(again, payloads))
        rows = columns_array(
            self._message, pa.StructArray.from_arrays(batch.columns, names=batch.schema.names)
        )
        if not len(unproven):
            return rows, {}
        places = unproven.to_numpy()
        careful, reasons = self._careful.decode(payloads.take(unproven))
        merged = in_place([(np.arange(len(rows)), rows), (places, careful)], len(rows), rows[:0])
        return merged, {int(places[place]): reason for place, reason in reasons.items()}


def messages_of(message: Descriptor, columns: Struct) -> Messages:
    """What decodes payloads of one type."""
    slow = _beyond_ptars(message.file) or holds_json(columns)
    return UpbMessages(message, columns) if slow else PtarsMessages(message, columns)


def _beyond_ptars(file: FileDescriptor) -> bool:
    """Whether ptars panics (editions), or reads null where there is something (groups)."""
    proto = FileDescriptorProto()
    file.CopyToProto(proto)
    groups = any(map(_has_group, file.message_types_by_name.values()))
    return proto.syntax == "editions" or groups or any(map(_beyond_ptars, file.dependencies))


def _has_group(message: Descriptor) -> bool:
    groups = any(f.type == f.TYPE_GROUP for f in message.fields)
    return groups or any(map(_has_group, message.nested_types))


def _message_text(message: Message) -> str:
    """Protobuf's own JSON (https://protobuf.dev/programming-guides/json/).

    Raises:
        ValueError: JSON has no word for the message, as for a Value that is NaN.
    """
    printer = _Printer(descriptor_pool=message.DESCRIPTOR.file.pool)
    try:
        return json_text(printer._MessageToJsonObject(message))
    except json_format.SerializeToJsonError as e:
        raise ValueError(str(e)) from None


class _Printer(json_format._Printer):  # type: ignore[misc]  # it has no types
    """The library's own, but of an `Any` whose type the schema does not know the bytes are kept."""

    def _AnyMessageToJsonObject(self, message: Any) -> dict[str, Any]:
        try:
            document: dict[str, Any] = super()._AnyMessageToJsonObject(message)
        except (TypeError, DecodeError):
            return {"@type": message.type_url, "value": base64.b64encode(message.value).decode()}
        return document
