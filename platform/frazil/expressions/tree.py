"""What an expression consists of. Everything that it can do has a name here: nothing else is ever run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Column:
    """A column, or a field within one, by the names on the way to it."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that stands in the expression.

    Args:
        kind: text, boolean, null, whole, decimal, double, date, timestamp; or interval, in microseconds.
        text: As it was written.
    """

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Now:
    """The time of the landing."""


@dataclass(frozen=True, slots=True)
class Call:
    """What is made of other values.

    Args:
        name: A name of `frazil.expressions.arrow`.
    """

    name: str
    of: tuple[Node, ...]


Node = Column | Constant | Now | Call


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One value of many rows.

    Args:
        name: count, count_distinct, count_if, sum, avg, min or max.
        of: What is aggregated; None counts the rows themselves.
    """

    name: str
    of: Node | None = None


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression over one row, or over aggregates of many.

    Args:
        text: As it was written.
        root: In the place of the aggregates it has columns that are called by `aggregate_name`.
    """

    text: str
    root: Node
    aggregates: tuple[Aggregate, ...] = field(default=())

    @property
    def columns(self) -> frozenset[tuple[str, ...]]:
        """The paths that it names."""
        own = () if self.aggregates else columns_in(self.root)
        inner = (path for each in self.aggregates if each.of for path in columns_in(each.of))
        return frozenset([*own, *inner])


def aggregate_name(number: int) -> str:
    """What the value of an aggregate is called in the row that the whole expression is computed of."""
    return f"aggregate {number}"


def columns_in(node: Node) -> Iterator[tuple[str, ...]]:
    """The paths that a part of an expression names."""
    if isinstance(node, Column):
        yield node.path
    for part in node.of if isinstance(node, Call) else ():
        yield from columns_in(part)
