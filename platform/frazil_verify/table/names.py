"""The names that columns had before: an approved rename or retype keeps a column's id.

Source: docs/evolution.md, "Approved".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from frazil_verify.table.metadata import Column, columns_of

NOWHERE = "\0nowhere"
"""The name of a column that the table did not have: no record has such a field."""

Names = Mapping[int, str]
"""The names of fields by their ids, at every depth."""

_PARTS = ("element", "value", "key")


def names_of(kind: Any) -> dict[int, str]:
    """The names of all fields of a type, or of a schema."""
    return {number: name for siblings in _siblings(kind) for number, name in siblings.items()}


def former_names(schemas: Iterable[Any], now: Any) -> dict[int, tuple[str, ...]]:
    """The names that present fields had before, by their ids, and that records of then may still use.

    The column that a retype leaves behind has none: records of its former name fill the column that took it.
    """
    names, had = names_of(now), defaultdict(set)
    for schema in schemas:
        for number, name in names_of(schema).items():
            had[number].add(name)
    taken = {number: siblings for siblings in _siblings(now) for number in siblings}
    return {
        number: tuple(sorted(was - {*taken[number].values()}))
        for number, was in had.items()
        if number in names and not any(_is_left(names[number], each) for each in was)
    }


def left_behind(schemas: Iterable[Any], now: Any) -> dict[int, str]:
    """The former names of columns that retypes left behind, by their ids."""
    names = names_of(now)
    had = (pair for schema in schemas for pair in names_of(schema).items())
    return {number: was for number, was in had if _is_left(names.get(number, ""), was)}


def as_named(columns: Iterable[Column], names: Names) -> tuple[Column, ...]:
    """The same columns with the names of a schema; what it lacks has a name that no record knows."""
    return tuple(
        Column(c.id, names.get(c.id, NOWHERE), _named(c.type, names), c.required, c.default) for c in columns
    )


def _named(kind: Any, names: Names) -> Any:
    if not isinstance(kind, Mapping):
        return kind
    if kind["type"] == "struct":
        fields = [
            {**f, "name": names.get(f["id"], NOWHERE), "type": _named(f["type"], names)}
            for f in kind["fields"]
        ]
        return {**kind, "fields": fields}
    return {**kind, **{part: _named(kind[part], names) for part in _PARTS if part in kind}}


def _siblings(kind: Any) -> Iterator[dict[int, str]]:
    """The names of each struct's fields, by their ids."""
    if not isinstance(kind, Mapping):
        return
    if kind["type"] == "struct":
        yield {column.id: column.name for column in columns_of(kind)}
        for column in columns_of(kind):
            yield from _siblings(column.type)
    for part in _PARTS:
        yield from _siblings(kind.get(part))


def _is_left(now: str, was: str) -> bool:
    """Whether a retype left a column behind under its present name."""
    return re.fullmatch(re.escape(was) + r"__v\d+", now) is not None
