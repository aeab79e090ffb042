"""Protobuf by google.protobuf, row by row: the judge, and the way for what ptars can't read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil.formats.logical import Struct
from frazil.formats.protobuf.fields import (
    DECIMAL,
    UNSIGNED_LONG,
    WRAPPERS,
    decimal_of,
    is_entry,
    oneofs,
    regular_fields,
)
from frazil.formats.protobuf.known_values import KNOWN_VALUES, decimal_value
from frazil.formats.protocol import Reason
from frazil.formats.spark import arrow_type

if TYPE_CHECKING:
    import pyarrow as pa
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

__all__ = ["UpbMessages"]

_MOST = 2**63
_DAMAGED = "payload", "the payload is cut off, damaged, or has text that is not UTF-8"


class UpbMessages:
    """Decodes payloads of one message type; see `Messages`.

    Args:
        message: The type.
        columns: Its columns.
    """

    def __init__(self, message: Descriptor, columns: Struct) -> None:
        from google.protobuf.message_factory import GetMessageClass

        self._class = GetMessageClass(message)
        self._type = arrow_type(columns)
        self._walk = _Walk()

    def decode(self, payloads: pa.Array) -> tuple[pa.StructArray, dict[int, Reason]]:
        """See `Messages.decode`."""
        import pyarrow as pa

        rows: list[Any] = []
        reasons: dict[int, Reason] = {}
        for place, payload in enumerate(payloads.to_pylist()):
            found = self.row(payload)
            rows.append(None if isinstance(found, tuple) else found)
            if isinstance(found, tuple):
                reasons[place] = found
        return pa.array(rows, self._type), reasons

    def refused(self, payloads: pa.Array) -> dict[int, Reason]:
        """Places of the payloads that do not even parse."""
        from google.protobuf.message import DecodeError

        found = {}
        for place, payload in enumerate(payloads.to_pylist()):
            try:
                self._class.FromString(payload)
            except DecodeError:
                found[place] = _DAMAGED
        return found

    def row(self, payload: bytes) -> dict[str, Any] | Reason:
        """One payload's columns, or why it has none."""
        from google.protobuf.message import DecodeError

        try:
            message = self._class.FromString(payload)
            if missing := message.FindInitializationErrors():
                return "required", f"required fields are missing: {', '.join(missing)}"
            return self._walk.columns(message)
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

    def columns(self, message: Any) -> dict[str, Any]:
        regular, choices = self._plan(message.DESCRIPTOR)
        found = {f.name: self._field(message, f) for f in regular}
        for oneof, members in choices:
            chosen = message.WhichOneof(oneof)
            found[oneof] = chosen and {
                f.name: self._single(f, getattr(message, f.name)) if f.name == chosen else None
                for f in members
            }
        return found

    def _plan(self, message: Descriptor) -> Any:
        if message.full_name not in self._plans:
            choices = [(o.name, list(o.fields)) for o in oneofs(message)]
            self._plans[message.full_name] = regular_fields(message), choices
        return self._plans[message.full_name]

    def _field(self, message: Any, field: FieldDescriptor) -> Any:
        value = getattr(message, field.name)
        if not field.is_repeated:
            present = not field.has_presence or message.HasField(field.name)
            return self._single(field, value) if present else None
        if not is_entry(field):
            return [self._single(field, v) for v in value]
        key, item = field.message_type.fields
        if field.message_type.GetOptions().map_entry:
            pairs = {k: value[k] for k in value}.items()
            return [(self._single(key, k), self._single(item, v)) for k, v in pairs]
        return list({self._field(e, key): self._field(e, item) for e in value}.items())

    def _single(self, field: FieldDescriptor, value: Any) -> Any:
        if field.message_type is not None:
            return self._message(field, value)
        if field.enum_type is not None:
            known = field.enum_type.values_by_number.get(value)
            return known.name if known else str(value)
        if field.type in UNSIGNED_LONG and value >= _MOST:
            raise ValueError(f"{field.full_name} is {value}, above 2^63-1")
        return value

    def _message(self, field: FieldDescriptor, value: Any) -> Any:
        name = field.message_type.full_name
        parts = field.message_type.fields
        if name in WRAPPERS:
            return self._single(parts[0], value.value)
        if name == DECIMAL:
            kind = decimal_of(field)
            assert kind is not None
            return decimal_value(kind, value.value, value.scale)
        if known := KNOWN_VALUES.get(name):
            return known(*(getattr(value, part.name) for part in parts))
        return self.columns(value)
