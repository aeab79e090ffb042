"""The columns that may be named at one place of a query, and which one a name means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from frazil.derive.queries.query import Mistake
from frazil.derive.queries.types import UNKNOWN, element, fields

ALL = "*"
"""Name of the output that stands for columns which only a server can tell."""

_WORDS = ("user", "session_user")
"""Functions of Spark that may be written without brackets and look like columns."""


@dataclass(frozen=True, slots=True)
class Output:
    """One column that a query, or a part of it, puts out, with its type.

    `origins` are the columns of inputs that its values are made of: (input, column).
    """

    name: str
    kind: str = UNKNOWN
    origins: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Source:
    """What one part of a FROM offers."""

    name: str
    columns: Sequence[Output]  # its columns; `ALL` among them where not all are known
    spoken: str  # what it is called in errors
    shown: bool = True  # whether `*` takes its columns

    @property
    def whole(self) -> bool:
        """Whether all of its columns are known."""
        return all(column.name != ALL for column in self.columns)

    def get(self, name: str) -> Output | None:
        """Its column of a name, in whatever case."""
        return next((c for c in self.columns if c.name.lower() == name.lower()), None)


@dataclass(slots=True)
class Scope:
    """The sources of one SELECT, those around it, and what is wrong with names that were looked up."""

    sources: list[Source]  # of its FROM
    outer: Scope | None  # the SELECT around it
    mistakes: list[Mistake]  # grows as names are looked up
    merged: frozenset[str] = frozenset()  # columns that a join made one, so that they need no source's name
    # Columns that the SELECT itself has named so far.
    aliases: dict[str, Output] = field(default_factory=dict)

    def find(self, names: Sequence[str], at: int) -> Output:
        """The column that a name means, or a field within it; unknown where only a server knows.

        The parts of a name are such as `t`, `address`, `city`; `at` is where it stands.
        """
        if match := self._match(names, at):
            top, inner = match
            return self._field(top, inner, at)
        if names[0].lower() not in _WORDS and (self._all_known() or self._is_known(names)):
            self.mistakes.append((at, self._unknown(names)))
        return Output(names[-1])

    def every(self, of: Sequence[str], at: int) -> list[Output]:
        """What `*` stands for: all columns, or those of the source, or fields of the column, before it."""
        sources = [s for s in self.sources if (s.name.lower() == of[0].lower() if len(of) == 1 else s.shown)]
        if not of and not sources:
            return [Output(ALL)]
        if len(of) > 1 or not sources:
            top = self.find(of, at)
            inner = [replace(top, name=name, kind=kind) for name, kind in fields(top.kind).items()]
            return inner or [Output(ALL)]
        columns = [column for source in sources for column in source.columns]
        merged = {c.name.lower(): c for c in reversed(columns) if c.name.lower() in self.merged and not of}
        return [*reversed(merged.values()), *(c for c in columns if c.name.lower() not in merged)]

    def _match(self, names: Sequence[str], at: int) -> tuple[Output, Sequence[str]] | None:
        first = names[0].lower()
        for source in self.sources:
            if len(names) > 1 and source.name.lower() == first and (top := source.get(names[1])):
                return top, names[2:]
        holders = [source for source in self.sources if source.get(first)]
        if len(holders) > 1 and first not in self.merged:
            why = f"{names[0]}: of {' or '.join(source.name for source in holders)}? Write which"
            self.mistakes.append((at, why))
        top = holders[0].get(first) if holders else self.aliases.get(first)
        if top:
            return top, names[1:]
        return self.outer._match(names, at) if self.outer else None

    def _field(self, top: Output, inner: Sequence[str], at: int) -> Output:
        kind, spoken = top.kind, top.name
        for name in inner:
            known = fields(kind)
            inner_kind = {field.lower(): of for field, of in known.items()}.get(name.lower())
            if known and not inner_kind:
                self.mistakes.append((at, f"{spoken}.{name}: {nearest(name, list(known))}"))
            elif not known and kind != UNKNOWN and not kind.startswith("map<"):
                self.mistakes.append((at, f"{spoken}.{name}: {spoken} is of type {kind} and has no fields"))
            kind = inner_kind or (element(kind) if kind.startswith("map<") else UNKNOWN)
            spoken = f"{spoken}.{name}"
        return replace(top, kind=kind)

    def _is_known(self, names: Sequence[str]) -> bool:
        """Whether a name begins with a source all of whose columns are known, whatever others hold."""
        return len(names) > 1 and any(s.whole and s.name.lower() == names[0].lower() for s in self.sources)

    def _all_known(self) -> bool:
        own = all(source.whole for source in self.sources)
        return own and (self.outer is None or self.outer._all_known())

    def _unknown(self, names: Sequence[str]) -> str:
        of = [s for s in self.sources if len(names) > 1 and s.name.lower() == names[0].lower()]
        sources, name = of or self.sources, names[1] if of else names[0]
        known = list(dict.fromkeys(c.name for source in sources for c in source.columns))
        return f"{name}: no column of {', '.join(s.spoken for s in sources)}; {nearest(name, known)}"


def repeated(names: Iterable[str]) -> list[str]:
    """Names that are there more than once, in whatever case."""
    counts = Counter(name.lower() for name in names if name != ALL)
    return [name for name, count in counts.items() if count > 1]


def nearest(name: str, known: Sequence[str]) -> str:
    """What may have been meant, in words."""
    near = get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"known are {', '.join(known)}" if known else "none is known"
