"""The columns that may be named at one place of a query, and which one a name means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from frazil.derive.syntax import start_of
from frazil.derive.type_rules import UNKNOWN, element, fields

if TYPE_CHECKING:
    from sqlglot import exp

    from frazil.derive.query import Mistake

__all__ = ["ALL", "Output", "Scope", "Source", "nearest"]

ALL = "*"
"""Name of the output that stands for columns which only a server can tell."""

_WORDS = frozenset({"user", "session_user", "localtimestamp", "current_catalog", "current_database"})
"""Functions of Spark that may be written without brackets and look like columns."""


@dataclass(frozen=True, slots=True)
class Output:
    """One column that a query, or a part of it, puts out.

    Args:
        name: As written.
        kind: Its type.
        origins: The columns of inputs that its values are made of: (input, column).
    """

    name: str
    kind: str = UNKNOWN
    origins: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Source:
    """What one part of a FROM offers.

    Args:
        name: What it is called in the query.
        columns: Its columns; among them `ALL` where not all are known.
        spoken: What it is called in errors.
        shown: Whether `*` takes its columns.
    """

    name: str
    columns: Sequence[Output]
    spoken: str
    shown: bool = True

    @property
    def whole(self) -> bool:
        """Whether all of its columns are known."""
        return all(column.name != ALL for column in self.columns)

    def get(self, name: str) -> Output | None:
        """Its column of a name, in whatever case."""
        return next((c for c in self.columns if c.name.lower() == name.lower()), None)


@dataclass(slots=True)
class Scope:
    """The sources of one SELECT, those around it, and what is wrong with names that were looked up.

    Args:
        sources: Of its FROM.
        outer: The SELECT around it.
        mistakes: Grows as names are looked up.
        merged: Columns that a join made one, so that they need no source's name.
        aliases: Columns that the SELECT itself has named so far.
    """

    sources: list[Source]
    outer: Scope | None
    mistakes: list[Mistake]
    merged: frozenset[str] = frozenset()
    aliases: dict[str, Output] = field(default_factory=dict)

    def find(self, column: exp.Column) -> Output:
        """The column that a name means, or a field within it; unknown where only a server knows."""
        names = [part.name for part in column.parts]
        if found := self._found(column, names):
            top, inner = found
            return self._field(column, top, inner)
        if names[0].lower() not in _WORDS and self._all_known():
            self.mistakes.append((start_of(column), self._unknown(names)))
        return Output(names[-1])

    def _found(self, column: exp.Column, names: list[str]) -> tuple[Output, list[str]] | None:
        for source in self.sources:
            if len(names) > 1 and source.name.lower() == names[0].lower() and (top := source.get(names[1])):
                return top, names[2:]
        tops = [top for source in self.sources if (top := source.get(names[0]))]
        if len(tops) > 1 and names[0].lower() not in self.merged:
            given = " or ".join(s.name for s in self.sources if s.get(names[0]))
            self.mistakes.append((start_of(column), f"{names[0]}: of {given}? Write which"))
        if tops:
            return tops[0], names[1:]
        if alias := self.aliases.get(names[0].lower()):
            return alias, names[1:]
        return self.outer._found(column, names) if self.outer else None

    def _field(self, column: exp.Column, top: Output, inner: Iterable[str]) -> Output:
        kind, spoken = top.kind, top.name
        for name in inner:
            known = fields(kind)
            found = {known_name.lower(): of for known_name, of in known.items()}.get(name.lower())
            if known and not found:
                self.mistakes.append((start_of(column), f"{spoken}.{name}: {nearest(name, list(known))}"))
            kind = found or (element(kind) if kind.startswith("map<") else UNKNOWN)
            spoken = f"{spoken}.{name}"
        return replace(top, kind=kind)

    def _all_known(self) -> bool:
        own = all(source.whole for source in self.sources)
        return own and (self.outer is None or self.outer._all_known())

    def _unknown(self, names: list[str]) -> str:
        of = [s for s in self.sources if len(names) > 1 and s.name.lower() == names[0].lower()]
        sources, name = of or self.sources, names[1] if of else names[0]
        known = list(dict.fromkeys(c.name for source in sources for c in source.columns))
        return f"{name}: no column of {', '.join(s.spoken for s in sources)}; {nearest(name, known)}"


def nearest(name: str, known: Sequence[str]) -> str:
    """What may have been meant, in words."""
    near = get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"known are {', '.join(known)}" if known else "none is known"
