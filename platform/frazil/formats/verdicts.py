"""What a verdict on one schema change is, and what it says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from frazil.formats.logical import Field

__all__ = ["Change", "Verdict", "Where", "refused"]

Change = Literal["add", "widen", "relax", "tighten", "reorder", "drop", "retype", "rename", "unmappable"]
_PARTS = {"element": "[]", "value": "{}", "key": "{key}"}


@dataclass(frozen=True, slots=True)
class Where:
    """A place within a table.

    Args:
        path: Names from the root, as Iceberg has them: parts of lists and maps are `element`, `key`
            and `value`.
        said: The same for people: `orders[].price`, `tags{}`.
    """

    path: tuple[str, ...] = ()
    said: str = ""

    def field(self, name: str) -> Where:
        """A field of the struct here."""
        return Where((*self.path, name), f"{self.said}.{name}".lstrip("."))

    def part(self, name: Literal["element", "key", "value"]) -> Where:
        """A part of the list or map here."""
        return Where((*self.path, name), self.said + _PARTS[name])

    @property
    def dotted(self) -> str:
        """As Iceberg says it."""
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One change of one field: whether the table may take it, by which rule, and what to do.

    Args:
        where: The field.
        change: What happened to it.
        allowed: Whether the table takes it by itself.
        rule: Why, in words.
        todo: For the reader; empty where nothing is to be done.
        wanted: What the table must hold there; None where it stays as it is.
    """

    where: Where
    change: Change
    allowed: bool
    rule: str
    todo: str = ""
    wanted: Field | None = None

    @property
    def field(self) -> str:
        """The field's path, for people."""
        return self.where.said

    @property
    def outcome(self) -> Literal["refused", "applied", "no change"]:
        """What the next landing does about it."""
        if not self.allowed:
            return "refused"
        return "no change" if self.wanted is None else "applied"

    def __str__(self) -> str:
        return f"{self.field}: {self.rule}"

    def document(self) -> dict[str, Any]:
        """For scripts."""
        return {
            "field": self.field,
            "change": self.change,
            "outcome": self.outcome,
            "rule": self.rule,
            "todo": self.todo,
        }


def refused(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Those that stop the table."""
    return [v for v in verdicts if not v.allowed]
