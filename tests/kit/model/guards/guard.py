"""A guard of the engine, and what takes it out: without it a round must be broken."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pyiceberg.table import Transaction

from frazil.tables.commits import replacement
from frazil.tables.commits.rewrite import stage_new_rows
from frazil.tables.metadata.manifests import HeadReader
from kit.model.parts.edges import Edges
from kit.model.parts.stage import Dice
from kit.model.round import Case, Works, play

__all__ = ["LANDERS", "Guard", "Out", "nothing", "put", "put_any"]

Out = Callable[[pytest.MonkeyPatch], None]

LANDERS = {"first": ("land",), "second": ("land",)}


@dataclass(frozen=True)
class Guard:
    """One guard.

    Args:
        what: It, in words.
        out: Takes it out.
        works: Who does what in the rounds that try it.
        lane: Whether landings, or merges, write files without a branch; None: landings do now and then.
        spoils: Odds that a reader or a writer does wrong.
        keyed: Whether the table has a row per key.
        sweeps: Whether nothing is drawn, and the seed is the number of the only decision that is not dull:
            for what needs one work done wholly between two steps of another.
    """

    what: str
    out: Out
    works: Works
    lane: bool | None = None
    spoils: float = 0.0
    keyed: bool = False
    sweeps: bool = False

    def breaks(self, edges: Edges, seed: int) -> Exception | None:
        """What was broken in a round of a seed, if anything was."""
        lane = seed % 2 == 1 and not self.keyed if self.lane is None else self.lane
        case = Case(self.works, seed=seed, lane=lane, spoils=self.spoils, keyed=self.keyed)
        try:
            play(edges, case, Dice({seed: 1}) if self.sweeps else Dice(random=random.Random(seed)))
        except Exception as e:  # noqa: BLE001 - files that are gone break a work in their own way
            return e
        return None


def put(owner: Any, name: str, value: Any) -> Out:
    """Puts something else in a name's place."""
    return lambda patch: patch.setattr(owner, name, value)


def nothing(*_: Any, **__: Any) -> None:
    """Does nothing."""


def put_any(tx: Transaction, table: Any, removed: Any, staged: Any, summary: Any, _: Any = ()) -> None:
    """Puts files in place whether or not all that go are still there."""
    what = replacement.replacing(HeadReader().read(table).named, removed, staged.files)
    stage_new_rows(tx, what, summary)
