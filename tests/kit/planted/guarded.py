"""Fields that are masked, and records that are left out: by hand, from docs/masks.md."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa

from kit.planted.columns import Values

KEY = "0123456789abcdef0123456789abcdef"
MASKS = {
    "key": "hash", "name": "hash", "blob": "hash", "price": "hash", "large": "last4", "note": "redact",
    "small": "drop", "place.city": "hash", "tags.element": "last4", "counts.value": "hash",
}  # fmt: skip
"""The mask of each field, by its path."""

WHERE = "(flag and not name like '%x%') or small < 0 or (place.zip >= 5000 and note is null)"
"""Which records become rows; `is_wanted` says it in Python."""


def is_wanted(values: Values) -> bool:
    """Whether a record becomes a row."""
    zip_code = values["place"] and values["place"]["zip"]
    far = zip_code is not None and zip_code >= 5000 and values["note"] is None
    return (values["flag"] and "x" not in values["name"]) or values["small"] < 0 or far


def hashed(value: Any, key: str = KEY) -> str:
    """The hash of a value's text; of bytes of themselves."""
    content = value if isinstance(value, bytes) else str(value).encode()
    return hmac.new(key.encode(), content, hashlib.sha256).hexdigest()


def last4(value: Any) -> str:
    """The last four characters of a text that is not short."""
    text = str(value)
    return "****" + (text[-4:] if len(text) > 7 else "")


def _null_or(made: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else made(value)


_MADE: Mapping[str, Callable[[Any], Any]] = {
    "key": hashed, "name": hashed, "blob": hashed, "large": last4, "note": lambda _: None,
    "price": lambda value: hashed(Decimal(value).scaleb(-3).quantize(Decimal("0.001"))),
    "place": lambda value: {**value, "city": hashed(value["city"])},
    "tags": lambda value: [last4(each) for each in value],
    "counts": lambda value: {name: hashed(each) for name, each in value.items()},
}  # fmt: skip
"""What a row has in the place of a column's value."""


def masked(values: Values) -> Values:
    """The values of a row, masked."""
    made = {name: _null_or(_MADE.get(name, lambda value: value))(value) for name, value in values.items()}
    made.pop("small", None)
    return made


def masked_schema(schema: pa.Schema) -> pa.Schema:
    """The columns that a table has of masked fields."""
    kinds = dict.fromkeys(("key", "name", "blob", "price", "large"), pa.string())
    kinds["counts"] = pa.map_(pa.string(), pa.string())
    return pa.schema([(f.name, kinds.get(f.name, f.type)) for f in schema if f.name != "small"])
