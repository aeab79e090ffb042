"""Where two values differ that hold other values, such as policies: each place, not both in full."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Difference:
    """One place in a value.

    Args:
        path: The place, as JSON Pointer writes it; empty for the value itself.
        before: What is there, null if nothing is.
        after: What should be there.
    """

    path: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.path}: {as_text(self.before)} -> {as_text(self.after)}"


def differences_within(before: Any, after: Any) -> Iterator[Difference]:
    """Every place that differs; the values as a whole where they are of two kinds, or hold no others.

    One after the other: a place in a list counts what those before it added and removed.
    """
    before, after = _plain(before), _plain(after)
    if type(before) is not type(after) or not isinstance(before, dict | list):
        yield Difference("", before, after)
        return
    # Of the extra `cloud`: Dagster's definitions load this module where no deployment is, too.
    from jsonpatch import JsonPatch
    from jsonpointer import resolve_pointer

    for operation in JsonPatch.from_diff(before, after, optimization=False):
        path = operation["path"]
        there = None if operation["op"] == "add" else resolve_pointer(before, path)
        yield Difference(path, there, operation.get("value"))
        before = JsonPatch([operation]).apply(before)


def as_text(value: Any) -> str:
    """A value as JSON, whatever the order of its names."""
    return json.dumps(value, sort_keys=True, default=str)


def _plain(value: Any) -> Any:
    return json.loads(as_text(value))
