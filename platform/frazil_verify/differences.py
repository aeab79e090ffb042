"""Where a row differs from what its record says: columns, and fields within them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from frazil_verify.entries import digest
from frazil_verify.table.metadata import Column, columns_of

Row = tuple[Any, ...]


def differing(columns: Sequence[Column], expected: Row | None, actual: Row | None) -> Iterator[str]:
    """The names of what differs, with dots; of lists and maps that of the whole."""
    if expected is None or actual is None:
        return
    for column, ours, theirs in zip(columns, expected, actual, strict=True):
        if digest((ours,)) != digest((theirs,)):
            yield from _within(column, ours, theirs)


def _within(column: Column, ours: Any, theirs: Any) -> Iterator[str]:
    if ours is None or theirs is None or not _is_struct(column.type):
        yield column.name
        return
    yield from (f"{column.name}.{name}" for name in differing(columns_of(column.type), ours, theirs))


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, Mapping) and kind["type"] == "struct"
