"""Older versions of a schema by the names that their fields have today: what approved renames make of them.

A rename lies between two versions: the first one that has the new name and no longer the old one, and those
before it. So an old name that a new field took later means another column in later versions than in earlier
ones. Source: docs/evolution.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from frazil.formats.logical import Field, List, Map, Struct, Type, find, with_fields

T = TypeVar("T", bound=Type)

Rename = tuple[str, str]
"""A field's path, by the names of its time, and its new name."""

Names = Mapping[str, str]
"""The paths of a version's fields, and the same with today's name behind the last dot: for those renamed."""


def names_today(versions: Sequence[Struct | None], renames: Sequence[Rename]) -> list[Names]:
    """What the fields of each version are called today.

    Args:
        versions: What records of each become by themselves, oldest first; None where that is nothing.
        renames: Those that were approved, in the order in which they are applied.
    """
    if not renames:
        return [{} for _ in versions]
    today = by_todays_names(versions, renames)
    pairs = zip(versions, today, strict=True)
    return [dict(_differing(then, now)) if then and now else {} for then, now in pairs]


def by_todays_names(versions: Sequence[Struct | None], renames: Sequence[Rename]) -> list[Struct | None]:
    """The same versions with the names that their fields have today; see `names_today`."""
    waiting = list(renames)
    earlier: list[Struct | None] = []
    for version in versions:
        if version is not None:
            waiting = _pass(earlier, version, waiting)
        earlier.append(version)
    newest = next((each for each in reversed(versions) if each is not None), None)
    if newest is not None and waiting:
        _without_a_moment(earlier, newest, waiting)
    return [*earlier[:-1], *versions[-1:]]


def todays_path(path: str, names: Names) -> str:
    """The path that a field of a version has today."""
    for was in sorted(names, key=len, reverse=True):
        if path == was or path.startswith(f"{was}."):
            path = names[was] + path[len(was) :]
    return path


def bare_today(value: Any, then: Type, now: Type) -> Any:
    """A value as `formats.bare` has it, by the names of another type of the same shape."""
    match then, now, value:
        case Struct(), Struct(), dict():
            pairs = zip(then, now, strict=True)
            return {b.name: bare_today(value[a.name], a.type, b.type) for a, b in pairs if a.name in value}
        case List(), List(), list():
            return [bare_today(each, then.element, now.element) for each in value]
        case Map(), Map(), list():
            return [(key, bare_today(each, then.value, now.value)) for key, each in value]
    return value


def renamed_path(path: str, to: str) -> str:
    """The path that a field has after a rename of it."""
    parent, dot, _ = path.rpartition(".")
    return f"{parent}{dot}{to}"


def _pass(earlier: list[Struct | None], version: Struct, waiting: Sequence[Rename]) -> list[Rename]:
    """Renames the fields of earlier versions as the next version has it; returns what it does not rename."""
    left = []
    for number, (path, to) in enumerate(waiting):
        ends = _ends(path, to, waiting[number + 1 :])
        has_come = find(version, path) is None and any(find(version, end) for end in ends)
        if has_come and any(each and find(each, path) for each in earlier):
            earlier[:] = [each and _renamed(each, path, to) for each in earlier]
        else:
            left.append((path, to))
    return left


def _without_a_moment(earlier: list[Struct | None], newest: Struct, waiting: Sequence[Rename]) -> None:
    """Renames that no version shows, for a new field has the old name: of versions without the new name."""
    for number, (path, to) in enumerate(waiting):
        ends = [*_ends(path, to, waiting[number + 1 :])]
        if not any(find(newest, end) for end in ends):
            continue
        for place, each in enumerate(earlier):
            if each and find(each, path) and not any(find(each, end) for end in ends):
                earlier[place] = _renamed(each, path, to)


def _ends(path: str, to: str, later: Sequence[Rename]) -> Iterator[str]:
    """Where a renamed field is afterwards, and where later renames bring it."""
    end = renamed_path(path, to)
    yield end
    for was, name in later:
        if end == was or end.startswith(f"{was}."):
            end = renamed_path(was, name) + end[len(was) :]
            yield end


def _renamed(kind: T, path: str, to: str) -> T:
    """The same type with another name of one field; another field that has that name is no column's."""
    if isinstance(kind, Struct) and kind.get(path):
        known = {path: to, to: f"{to}__gone"}
        return with_fields(kind, (replace(f, name=known.get(f.name, f.name)) for f in kind))
    return with_fields(kind, (_renamed_within(f, path, to) for f in kind.fields))


def _renamed_within(field: Field, path: str, to: str) -> Field:
    within = path.removeprefix(f"{field.name}.")
    return field if within == path else replace(field, type=_renamed(field.type, within, to))


def _differing(then: Type, now: Type, at: str = "") -> Iterator[tuple[str, str]]:
    for was, field in zip(then.fields, now.fields, strict=True):
        if was.name != field.name:
            yield f"{at}{was.name}", f"{at}{field.name}"
        yield from _differing(was.type, field.type, f"{at}{was.name}.")
