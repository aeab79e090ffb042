"""Why a record with masked fields is bad, without any of its values."""

from __future__ import annotations

import re

from frazil.formats.batches.oversize import TOO_LARGE
from frazil.formats.logical import Struct, find
from frazil.formats.protocol import UNREADABLE, Reason
from frazil.formats.rules.batch import RULE

_FIELD = re.compile(r"\bfield ([^\s:,;{}\[\]]+)")

_PLAIN = frozenset(
    {
        "truncated", "utf8", "trailing_bytes", "too_short", "null_value", "null_key", "schema_id", UNREADABLE,
        "no_row", "unavailable_value", "infinity", "encrypted_field",
    }
)  # fmt: skip
"""Codes whose words hold numbers and names of the schema, and nothing of the record."""


def withheld(reason: Reason, key: Struct, value: Struct) -> Reason:
    """The reason; where its words may hold a value, the code and the field alone."""
    code, words = reason
    plain = code.removeprefix("key_")
    if plain in _PLAIN or plain.startswith((TOO_LARGE, RULE)):
        return reason
    named = _FIELD.search(words)
    known = named and any(find(columns, named[1].replace("[]", "")) for columns in (key, value))
    at = f"field {named[1]}: " if named and known else ""
    return code, f"{at}{plain}; what the record has there is not shown, for columns of the table are masked"
