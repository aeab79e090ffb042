"""Arrow's values as JSON, of the same form whichever engine they came from: no type is left to guess."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa

_MICROS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_DAY_MS = 86_400_000


def plain(value: Any) -> Any:
    """A scalar of Arrow; moments as numbers, for Python's own end in 9999."""
    if not value.is_valid:
        return None
    kind = value.type
    if isinstance(kind, pa.BaseExtensionType):
        return plain(value.value)
    if pa.types.is_dictionary(kind):
        return plain(value.dictionary[value.index.as_py()])
    if pa.types.is_map(kind):
        return {"$map": [[plain(each["key"]), plain(each["value"])] for each in _entries(value.values)]}
    if pa.types.is_struct(kind):
        return {field.name: plain(value[at]) for at, field in enumerate(kind)}
    if pa.types.is_nested(kind):
        return [plain(each) for each in value.values]
    return _leaf(value, kind)


def _entries(pairs: Any) -> Any:
    """Keys and values of a map, whatever Arrow calls them."""
    keys, values = pairs.field(0), pairs.field(1)
    return ({"key": keys[at], "value": values[at]} for at in range(len(pairs)))


def _leaf(value: Any, kind: Any) -> Any:
    if pa.types.is_timestamp(kind):
        return _moment(value.value, kind.unit)
    if pa.types.is_time(kind):
        python = _moment(value.value, kind.unit)
        return {"$time": python.get("$micros", python)}
    if pa.types.is_date(kind):
        return {"$days": value.value // (_DAY_MS if kind.bit_width == 64 else 1)}
    python = value.as_py()
    if isinstance(python, Decimal):
        return {"$decimal": str(python)}
    return {"$bytes": python.hex()} if isinstance(python, bytes) else python


def _moment(number: int, unit: str) -> dict[str, int]:
    if unit == "ns":
        return {"$nanos": number} if number % 1000 else {"$micros": number // 1000}
    return {"$micros": number * _MICROS[unit]}
