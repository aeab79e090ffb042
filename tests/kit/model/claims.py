"""What a work says of itself, in its report or its error: all of it must be true."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyiceberg.table.snapshots import Operation

from frazil.errors import CommitConflictError, FrazilError, TopicChangedError
from frazil.landing.cut.note import notes
from frazil.tables.metadata.snapshots import ancestors
from kit.model.oracle import Stuck, Wrong
from kit.model.parts.catalog import Applied
from kit.model.world import NAME, World

__all__ = ["Claim"]

INVISIBLE = (
    "is visible",
    "nothing was landed",
    "nothing was changed",
    "no row is lost",
    "no row was deleted",
)
"""What a message says where rows are as they were."""


@dataclass(frozen=True)
class Claim:
    """What somebody says of commits that moved `main` of the topic's table."""

    world: World
    who: str
    made: Sequence[Applied]

    def line(self, error: FrazilError | None) -> str:
        """In a line."""
        return f"{type(error).__name__}: {_text(error)}" if error else "done"

    def of_error(self, error: FrazilError) -> None:
        """Raises where it is not true."""
        text = _text(error)
        if isinstance(error, CommitConflictError) and " times" in error.what:
            raise Stuck(f"{self.who} was refused time and again: {text}")
        if isinstance(error, TopicChangedError) and self.world.topic.log == "log1":
            raise Wrong(f"{self.who} said of a topic that nobody touched: {text}")
        ended = {note.snapshot for note in notes(self.world.table.properties).values()}
        # One that ended at a cut stands; what is said is of the landing behind it.
        seen = (a for a in self._seen if not self._prepares(a))
        last = [a for a in seen if a.table.metadata.current_snapshot_id not in ended]
        stated = sum(int(n) for n in re.findall(rf"(\d+) of {NAME}(?![\w])", text))
        forgets = stated or self.who.endswith("forget")  # whose look is a commit, though it finds no row
        if forgets and stated in (_sum(self.made, "frazil.forgotten"), _sum(self._seen, "frazil.forgotten")):
            return  # it says what of it is visible all the same
        if last and any(words in text.lower() for words in INVISIBLE):
            raise Wrong(f"{self.who} moved main and said: {text}")

    def of_report(self, work: str, report: Any) -> None:
        """Raises where its count is not that of the rows; one that was rolled back may be recreated."""
        if work == "forget":
            counted = sum(gone.rows for gone in report.gone if gone.table == str(NAME))
            key = "frazil.forgotten"
        elif work in ("land", "few", "redrive"):
            counted = report.redriven if work == "redrive" else report.records
            # Of a table with a row per key only its ledger tells how many records came.
            key = "frazil.records" if self.world.keyed else "added-records"
        else:
            return
        if counted not in (_sum(self.made, key), _sum(self._seen, key)):
            raise Wrong(f"{self.who} told of {counted} records, and it were {_sum(self.made, key)}")

    def _prepares(self, applied: Applied) -> bool:
        """Whether it only wrote files anew of which delete files hide rows, before rows are forgotten."""
        head = applied.table.current_snapshot()
        replaces = bool(head and head.summary and head.summary.operation is Operation.REPLACE)
        return replaces and self.who.endswith("forget")

    @property
    def _seen(self) -> list[Applied]:
        """Those that nobody rolled back."""
        visible = {s.snapshot_id for s in ancestors(self.world.table.metadata)}
        return [a for a in self.made if a.table.metadata.current_snapshot_id in visible]


def _sum(made: Sequence[Applied], key: str) -> int:
    summaries = (a.table.current_snapshot().summary.additional_properties for a in made)
    return sum(int(each.get(key, 0)) for each in summaries)


def _text(error: FrazilError) -> str:
    return " ".join(str(error).split())
