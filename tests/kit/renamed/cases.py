"""Fields that were renamed from version to version, a record of each, and the rows that these make today.

By docs/evolution.md, "Records of older versions"; written by hand. A row has the values that are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from hypothesis import strategies as st

from kit.renamed.formats import Version

Given = tuple[Version, dict[str, Any]]


@dataclass(frozen=True)
class Case:
    """Renames in their order, a record of each version, oldest first, and the rows."""

    renames: Sequence[tuple[str, str]]
    given: Sequence[Given]
    rows: Sequence[dict[str, Any]]


def texts(*names: str) -> Given:
    """A version of these fields, and a record of it in which each holds its name."""
    return dict.fromkeys(names), {name: name for name in names}


def _within(renames: Sequence[tuple[str, str]]) -> Case:
    given = [
        ({"address": {"zip": None}}, {"address": {"zip": "1"}}),
        ({"place": {"code": None}}, {"place": {"code": "2"}}),
    ]
    return Case(renames, given, [{"place": {"code": "1"}}, {"place": {"code": "2"}}])


_PLACE, _HOME = {"zip": None}, {"code": None}
_TAKEN = [{"new": "old"}, {"new": "new", "old": "old"}]
_SWAPPED = [("a", "x"), ("b", "a"), ("x", "b")]

CASES = {
    "renamed twice": Case(
        [("a", "b"), ("b", "c")], [texts("a"), texts("b"), texts("c")], [{"c": "a"}, {"c": "b"}, {"c": "c"}]
    ),
    "renamed twice at once": Case(
        [("a", "b"), ("b", "c")], [texts("a"), texts("c")], [{"c": "a"}, {"c": "c"}]
    ),
    "what it stands in first": _within([("address", "place"), ("place.zip", "code")]),
    "itself first": _within([("address.zip", "code"), ("address", "place")]),
    "within a list and a map": Case(
        [("all.element.zip", "code"), ("by_key.value.zip", "code")],
        [
            (
                {"all[]": _PLACE, "by_key{}": _PLACE},
                {"all": [{"zip": "1"}, {}], "by_key": {"k": {"zip": "2"}}},
            ),
            ({"all[]": _HOME, "by_key{}": _HOME}, {"all": [{"code": "3"}], "by_key": {}}),
        ],
        [{"all": [{"code": "1"}, {"code": None}], "by_key": {"k": {"code": "2"}}}, {"all": [{"code": "3"}]}],
    ),
    "a new field took the name": Case(
        [("old", "new")],
        [texts("old"), texts("new"), texts("new", "old")],
        [{"new": "old"}, {"new": "new"}, _TAKEN[1]],
    ),
    "a new field took the name at once": Case([("old", "new")], [texts("old"), texts("new", "old")], _TAKEN),
    "swapped": Case(
        _SWAPPED,
        [texts("a", "b"), texts("x", "b"), texts("x", "a"), texts("b", "a")],
        [{"b": "a", "a": "b"}, {"b": "x", "a": "b"}, {"b": "x", "a": "a"}, {"b": "b", "a": "a"}],
    ),
    "given back": Case(
        [("a", "b"), ("b", "a")], [texts("a"), texts("b"), texts("a")], [{"a": "a"}, {"a": "b"}, {"a": "a"}]
    ),
    "a dropped field had the name": Case(
        [("a", "b")], [texts("a", "b"), texts("a"), texts("b")], [{"b": "a"}, {"b": "a"}, {"b": "b"}]
    ),
}


@dataclass(frozen=True)
class History:
    """Versions that went on by chance: the fields of each, oldest first, by their names, and the renames."""

    versions: Sequence[Mapping[str, int]]
    renames: Sequence[tuple[str, str]]

    def expected(self) -> list[dict[str, str | None]]:
        """What the fields of each version are called today; None for those that are there no more."""
        today = {field: name for name, field in self.versions[-1].items()}
        return [{name: today.get(field) for name, field in each.items()} for each in self.versions]


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Fields are added, dropped and renamed; names that a rename freed are used again, a version later."""
    version, numbers = {name: n for n, name in enumerate("ab")}, count(2)
    versions, renames, dropped = [dict(version)], [], set()
    for _ in range(draw(st.integers(1, 6))):
        free = sorted({*"abcd"} - version.keys() - versions[-1].keys() - dropped)
        work = draw(st.sampled_from(["add", "drop", "rename", "rename"]))
        if work == "add" and free:
            version[draw(st.sampled_from(free))] = next(numbers)
        elif work == "drop" and len(version) > 1:
            gone = draw(st.sampled_from(sorted(version)))
            dropped.add(gone)
            del version[gone]
        elif work == "rename" and free:
            was, now = draw(st.sampled_from(sorted(version))), draw(st.sampled_from(free))
            version[now] = version.pop(was)
            renames.append((was, now))
        versions.append(dict(version))
    return History(versions, renames)
