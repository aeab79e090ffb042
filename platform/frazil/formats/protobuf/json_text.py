"""A message that no column holds, as Protobuf's own JSON (https://protobuf.dev/programming-guides/json/).

Of an `Any` whose type the schema does not know the bytes are kept: `{"@type": ..., "value": <base64>}`.
"""

from __future__ import annotations

import base64
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message

from frazil.formats.columns.unmappable import json_text

_ANY = "google.protobuf.Any"


def message_text(message: Message) -> str:
    """The text; raises ValueError where JSON has no word for the message, as for a Value that is NaN."""
    printer = _Printer(descriptor_pool=message.DESCRIPTOR.file.pool)
    try:
        return json_text(printer._MessageToJsonObject(message))
    except json_format.SerializeToJsonError as e:
        raise ValueError(str(e)) from None


class _Printer(json_format._Printer):  # type: ignore[misc]  # it has no types
    """The library's own, but for types that nobody knows."""

    def _AnyMessageToJsonObject(self, message: Any) -> dict[str, Any]:
        try:
            document: dict[str, Any] = super()._AnyMessageToJsonObject(message)
        except (TypeError, DecodeError):
            return {"@type": message.type_url, "value": base64.b64encode(message.value).decode()}
        return document
