"""What rounds of an attack came to: how many there were, of which seed, and what was broken in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from frazil.errors import FrazilError
from kit.model.oracle import Doubled, Lost, Stuck

__all__ = ["Toll", "table_of"]

KINDS = ("lost", "doubled", "wrong", "stuck")


@dataclass
class Toll:
    """Of one test.

    Attributes:
        attack: What was played, in words.
        rounds: How many.
        seed: Of which seed; empty: there is nothing to be drawn.
        broken: How many of them were, by kind.
    """

    attack: str = ""
    rounds: int = 0
    seed: str = ""
    broken: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def round(self) -> Iterator[None]:
        """Counts one, and what breaks it."""
        self.rounds += 1
        with self.all():
            yield

    @contextmanager
    def all(self) -> Iterator[None]:
        """Counts what breaks one of those that are counted within."""
        try:
            yield
        except Exception as e:
            self.broken[_kind(e)] += 1
            raise

    @property
    def document(self) -> dict[str, Any]:
        """As a report of pytest takes it from one process to another."""
        return {**vars(self), "broken": dict(self.broken)}


def table_of(tolls: Iterable[Mapping[str, Any]]) -> list[str]:
    """The lines of a table in Markdown: a line for each attack, whose parts are added up."""
    rows: dict[tuple[str, str], Counter[str]] = {}
    for each in tolls:
        row = rows.setdefault((each["attack"], each["seed"]), Counter())
        row.update({"rounds": each["rounds"], **each["broken"]})
    cells = [(*of, *(f"{row[kind]:,}" for kind in ("rounds", *KINDS))) for of, row in sorted(rows.items())]
    head = ("attack", "seed", "rounds", *KINDS)
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *cells)]


def _kind(error: Exception) -> str:
    if isinstance(error, Lost | Doubled):
        return type(error).__name__.lower()
    return "stuck" if isinstance(error, Stuck | FrazilError) else "wrong"
