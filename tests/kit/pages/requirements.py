"""Which distributions come with Frazil, and with its extras."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import requires
from itertools import chain
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import frazil

ROOT = Path(frazil.__file__).parents[2]


def reached(extras: Iterable[str], others: Iterable[str] = ()) -> set[str]:
    """The distributions that come with Frazil, some of its extras and others beside it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    of_extras = (project["optional-dependencies"][extra] for extra in extras)
    new = set(pairs(chain(project["dependencies"], *of_extras, others), ""))
    reached_pairs: set[tuple[str, str]] = set()
    while new:
        reached_pairs |= new
        new = {pair for name, extra in new for pair in pairs(required_by(name), extra)} - reached_pairs
    return {name for name, _ in reached_pairs}


def pairs(requirements: Iterable[str], extra: str) -> Iterator[tuple[str, str]]:
    """What is required if one extra is asked for: distributions, once as they are and once for each extra."""
    for one in map(Requirement, requirements):
        if one.marker is None or one.marker.evaluate({"extra": extra}):
            yield from ((canonicalize_name(one.name), each) for each in ("", *one.extras))


def required_by(name: str) -> list[str]:
    try:
        return requires(name) or []
    except ModuleNotFoundError:  # for other systems only
        return []
