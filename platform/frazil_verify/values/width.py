"""How many values a record takes in memory: docs/limits.md, "too_wide".

An object within an array or a map takes a value for each of its fields, whether it has them or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from frazil_verify.table.metadata import columns_of
from frazil_verify.values.bad import BadRecordError

_MOST = 4_000_000


def widest(kind: Any) -> int:
    """Values of the widest thing that may be there many times; 0 where nothing may."""
    return max(_repeated(kind), default=0)


def is_doubtful(payload: bytes, widest: int) -> bool:
    """Whether a text of JSON has braces enough for a record that is too wide."""
    return payload.count(b"{") * widest > _MOST + len(payload)


def is_large(payload: bytes, widest: int) -> bool:
    """Whether bytes are enough for a record that is too wide, where each may be a thing of its own."""
    return len(payload) * widest > _MOST + len(payload)


def check_width(read: Any, kind: Any, size: int) -> None:
    """Raises BadRecordError where a record of that many bytes takes more values than are allowed.

    Args:
        read: What stands in it, as objects and lists, or as messages.
        kind: The type that it becomes.
        size: Of the record, in bytes.
    """
    if _within(read, kind) > _MOST + size:
        raise BadRecordError("too many values in memory")


def _repeated(kind: Any) -> Iterator[int]:
    if _is(kind, "struct"):
        for column in columns_of(kind):
            yield from _repeated(column.type)
    elif isinstance(kind, Mapping):
        item = _item(kind)
        yield _width(item)
        yield from _repeated(item)


def _item(kind: Mapping[str, Any]) -> Any:
    """What is there many times; of a map the value alone, where the keys are names of an object."""
    if kind["type"] == "list":
        return kind["element"]
    if kind["key"] == "string":
        return kind["value"]
    parts = [{"id": -1, "name": name, "type": kind[name], "required": False} for name in ("key", "value")]
    return {"type": "struct", "fields": parts}


def _width(kind: Any) -> int:
    return sum(_width(column.type) for column in columns_of(kind)) if _is(kind, "struct") else 1


def _within(value: Any, kind: Any) -> int:
    """Values that the arrays and maps within a value take."""
    if _is(kind, "struct"):
        return sum(_within(_field(value, c.name), c.type) for c in columns_of(kind))
    if not isinstance(kind, Mapping) or value is None or not hasattr(value, "__len__"):
        return 0
    item, items = _item(kind), value.values() if hasattr(value, "values") else value
    deeper = any(True for _ in _repeated(item))
    return _width(item) * len(items) + (sum(_within(each, item) for each in items) if deeper else 0)


def _field(value: Any, name: str) -> Any:
    """A field of an object or of a message; None where there is none."""
    if isinstance(value, dict):
        return value.get(name)
    return getattr(value, name, None) if hasattr(value, "DESCRIPTOR") else None


def _is(kind: Any, word: str) -> bool:
    return isinstance(kind, Mapping) and kind["type"] == word
