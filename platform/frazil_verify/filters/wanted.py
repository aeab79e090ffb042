"""Which records become rows, and the fields that say so: docs/masks.md, "Records that are left out"."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from frazil_verify.filters.computing import Take, computed
from frazil_verify.filters.reading import columns_in, tree_of
from frazil_verify.findings import UnverifiableError
from frazil_verify.table.metadata import Column
from frazil_verify.values.bad import NotComparedError

ColumnAt = Callable[[Sequence[str]], Column]
"""A field of a half as a column of its own; raises NotComparedError where there is none."""


@dataclass(frozen=True)
class Wanted:
    """A filter over the fields of both halves, before they are masked.

    Args:
        take: What it says of a record by its fields.
        of_value: Fields of the value that no column has, and that it asks for.
        of_key: The same of the key.
    """

    take: Take
    of_value: tuple[Column, ...] = ()
    of_key: tuple[Column, ...] = ()

    @classmethod
    def of(
        cls, where: str, value: Sequence[Column], key: Sequence[Column], in_value: ColumnAt, in_key: ColumnAt
    ) -> Wanted:
        """The filter that a spec says.

        Args:
            where: Its text.
            value: The columns that values fill, as they are before masks.
            key: The same of keys.
            in_value: Finds a field of values.
            in_key: The same of keys.

        Raises:
            UnverifiableError: It asks for what is not known here.
        """
        tree = tree_of(where)
        known = {c.name: c.type for c in (*key, *value)}
        more: dict[ColumnAt, list[Column]] = defaultdict(list)
        for name, paths in _by_first(tree).items():
            if name not in known:
                find, column = _placed(paths, in_value, in_key)
                more[find].append(column)
                known[name] = column.type
        part = computed(tree, known)
        if part.kind != "boolean":
            raise UnverifiableError("its where is neither true nor false")
        return cls(part.take, tuple(more[in_value]), tuple(more[in_key]))


def _by_first(tree: Any) -> Mapping[str, set[tuple[str, ...]]]:
    """The paths that a tree names, by their first names."""
    paths = defaultdict(set)
    for path in columns_in(tree):
        paths[path[0]].add(path)
    return paths


def _placed(paths: set[tuple[str, ...]], *halves: ColumnAt) -> tuple[ColumnAt, Column]:
    """The field that some paths lead to, and where it is: a field of both halves is the value's."""
    for find in halves:
        for path in paths if len(paths) == 1 else ():
            try:
                return find, find(path)
            except NotComparedError:
                continue
    names = ", ".join(sorted(".".join(path) for path in paths))
    raise UnverifiableError(f"its where names {names}, which the verifier can't read")
