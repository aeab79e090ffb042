"""What a version of a schema calls the fields that are columns under other names today.

Source: docs/evolution.md, "Records of older versions". A rename lies between two versions: the first that has
the new name and no longer the old one, and those before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from frazil_verify.table.metadata import columns_of
from frazil_verify.table.names import NOWHERE, Names

Renames = Sequence[tuple[str, str]]
"""Paths of fields, by the names of the time, and their new names."""

Parts = Callable[[Any], Mapping[str, Any]]
"""The fields of what a field holds; `element` of a list, and `value` of a map."""


@dataclass
class Named:
    """A field of a version.

    Args:
        first: What the version calls it.
        within: Its own fields, by the names that they have by now.
    """

    first: str
    within: Tree


Tree = dict[str, Named]


def depth_of(kind: Any) -> int:
    """How many names lead to the deepest field of a type."""
    if not isinstance(kind, Mapping):
        return 0
    fields = [each["type"] for each in kind.get("fields", ())]
    inner = [*fields, *(kind[part] for part in ("element", "value") if part in kind)]
    return 1 + max(map(depth_of, inner), default=0)


def tree_of(node: Any, parts: Parts, depth: int) -> Tree:
    """The fields of a version by their own names, as deep as is said: a part may lie within itself."""
    fields = parts(node).items() if depth else ()
    return {name: Named(name, tree_of(inner, parts, depth - 1)) for name, inner in fields}


def bring_up_to_date(versions: Sequence[Tree], renames: Renames) -> None:
    """Gives the fields of each version the names that they have in the newest one; the oldest comes first."""
    left = list(renames)
    for at, version in enumerate(versions):
        for rename in tuple(left):
            goals = _goals(rename, left)
            is_made = _at(version, rename[0]) is None and any(_at(version, goal) for goal in goals)
            if is_made and any(_at(each, rename[0]) for each in versions[:at]):
                left.remove(rename)
                for each in versions[:at]:
                    _rename(each, rename)
    for rename in left:  # no version shows them, for a new field has the old name
        goals = _goals(rename, left[left.index(rename) :])
        if any(_at(versions[-1], goal) for goal in goals):
            for each in versions[:-1]:
                if not any(_at(each, goal) for goal in goals):
                    _rename(each, rename)


def names_in(kind: Any, level: Tree, then: Names) -> Iterator[tuple[int, str]]:
    """The ids of fields that a version calls otherwise, and what it calls them; `NOWHERE` where it has none.

    Args:
        kind: A type of the table, by its present names.
        level: The fields that the version has there.
        then: Names that fields had when the record was landed, by their ids, where they had others.
    """
    if not isinstance(kind, Mapping):
        return
    if kind["type"] != "struct":
        part = "element" if kind["type"] == "list" else "value"
        if part in level:
            yield from names_in(kind[part], level[part].within, then)
        return
    firsts = {each.first: each for each in level.values()}
    for column in columns_of(kind):
        known = level.get(column.name) or firsts.get(then.get(column.id, ""))
        first = known.first if known else NOWHERE if column.name in firsts else column.name
        if first != column.name and column.id >= 0:  # a part of a change has no id
            yield column.id, first
        yield from names_in(column.type, known.within if known else {}, then)


def _goals(rename: tuple[str, str], left: Renames) -> list[str]:
    """The path that a rename gives to a field, and those that the renames behind it give to the same."""
    goals = [_with_last(*rename)]
    for was, name in left[left.index(rename) + 1 :]:
        start, rest = goals[-1][: len(was)], goals[-1][len(was) :]
        if start == was and rest[:1] in ("", "."):
            goals.append(_with_last(was, name) + rest)
    return goals


def _with_last(path: str, name: str) -> str:
    return ".".join([*path.split(".")[:-1], name])


def _at(version: Tree, path: str) -> tuple[Tree, str] | None:
    """The fields among which a path ends, and its name there; None where the version has no such field."""
    if path in version:
        return version, path
    below = ((each, path[len(name) + 1 :]) for name, each in version.items() if path.startswith(f"{name}."))
    return next((place for each, rest in below if (place := _at(each.within, rest))), None)


def _rename(version: Tree, rename: tuple[str, str]) -> None:
    if place := _at(version, rename[0]):
        level, name = place
        level[rename[1]] = level.pop(name)
