"""The names that columns had before: an approved rename or retype keeps a column's id.

Source: docs/evolution.md, "Approved".
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from frazil_verify.table.metadata import Column, columns_of

NOWHERE = "\0nowhere"
"""The name of a column that the table did not have: no record has such a field."""

Names = Mapping[int, str]
"""The names of fields by their ids, at every depth."""

_Path = tuple[str, ...]
_PARTS = ("element", "value", "key")


def names_of(kind: Any) -> dict[int, str]:
    """The names of all fields of a type, or of a schema."""
    return {number: name for siblings in _siblings(kind) for number, name in siblings.items()}


def renames_of(properties: Mapping[str, str], schemas: Iterable[Any]) -> tuple[tuple[str, str], ...]:
    """The renames that the table went through, in order: a column's path by then, and its new name.

    Those that it notes, and those that another engine made: a column keeps its id. Source: docs/evolution.md.

    Args:
        properties: Those of the table.
        schemas: All of the table, the oldest first.
    """
    noted = json.loads(properties.get("frazil.migrations", "{}")).values()
    words = (re.fullmatch(r"rename (\S+) to (\S+)", each["did"]) for each in noted)
    renames = [(word[1], word[2]) for word in words if word]
    for before, after in pairwise(schemas):
        renames += (each for each in _renamed(_paths(before), _paths(after)) if each not in renames)
    return tuple(renames)


def _renamed(before: Mapping[int, _Path], after: Mapping[int, _Path]) -> Iterator[tuple[str, str]]:
    """What has another name than before, the outermost first, but for what a retype left behind."""
    for number, (*within, now) in sorted(after.items(), key=lambda each: len(each[1])):
        was = before[number][-1] if number in before else now
        if was != now and not _is_left(now, was):
            yield ".".join((*within, was)), now


def _paths(kind: Any, at: _Path = ()) -> dict[int, _Path]:
    """The names that lead to each field, by its id."""
    if not isinstance(kind, Mapping):
        return {}
    paths: dict[int, _Path] = {}
    for column in columns_of(kind) if kind["type"] == "struct" else ():
        paths |= {column.id: (*at, column.name), **_paths(column.type, (*at, column.name))}
    for part in _PARTS:
        paths |= _paths(kind.get(part), (*at, part))
    return paths


def left_behind(schemas: Iterable[Any], now: Any) -> dict[int, str]:
    """The former names of columns that retypes left behind, by their ids."""
    names = names_of(now)
    had = (pair for schema in schemas for pair in names_of(schema).items())
    return {number: was for number, was in had if _is_left(names.get(number, ""), was)}


def as_known(columns: Sequence[Column], known: Collection[int]) -> tuple[Column, ...]:
    """The same columns; one that is not among the known ids has a name that no record knows.

    Args:
        known: Those of columns and of what is within them; none where all are known.
    """
    ids = (number for c in columns for number in (c.id, *names_of(c.type)))
    strange = {number: NOWHERE for number in ids if known and number >= 0 and number not in known}
    return tuple(replace(c, name=strange.get(c.id, c.name), type=called(c.type, strange)) for c in columns)


def called(kind: Any, names: Names) -> Any:
    """The same type with other names of some fields, by their ids."""
    if not isinstance(kind, Mapping):
        return kind
    if kind["type"] == "struct":
        fields = [
            {**f, "name": names.get(f["id"], f["name"]), "type": called(f["type"], names)}
            for f in kind["fields"]
        ]
        return {**kind, "fields": fields}
    return {**kind, **{part: called(kind[part], names) for part in _PARTS if part in kind}}


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
