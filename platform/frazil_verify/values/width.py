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


def check_width(read: Any, kind: Any, size: int) -> None:
    """Raises BadRecordError where a text of that many bytes takes more values than are allowed.

    Args:
        read: What stands in it, as Python reads it.
        kind: The type that it becomes.
        size: Of the text, in bytes.
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
        within = ((value.get(c.name), c.type) for c in columns_of(kind)) if isinstance(value, dict) else ()
        return sum(_within(each, inner) for each, inner in within)
    if not isinstance(kind, Mapping) or not isinstance(value, dict | list):
        return 0
    item, items = _item(kind), value.values() if isinstance(value, dict) else value
    deeper = any(True for _ in _repeated(item))
    return _width(item) * len(items) + (sum(_within(each, item) for each in items) if deeper else 0)


def _is(kind: Any, word: str) -> bool:
    return isinstance(kind, Mapping) and kind["type"] == word
