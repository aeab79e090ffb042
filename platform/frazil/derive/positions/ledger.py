"""The position of a table that is made of others: which snapshot of each input its rows come from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

from frazil.landing.position.ledger import Failing
from frazil.tables.commits.ledger import Codec, Entry, whole_number


@dataclass(frozen=True, slots=True)
class Position:
    """How far one input was read: the table's own uuid, the newest snapshot, its sequence number."""

    uuid: str
    snapshot: int
    sequence: int


def position_of(uuid: Any, snapshot: Any, sequence: Any) -> Position:
    """A position as JSON tells it; raises ValueError where a part of it is of another type."""
    return Position(str(uuid), whole_number(snapshot), whole_number(sequence))


Inputs = Annotated[
    Mapping[str, Position],
    Codec(
        lambda inputs: json.dumps({t: [p.uuid, p.snapshot, p.sequence] for t, p in sorted(inputs.items())}),
        lambda text: {table: position_of(*values) for table, values in json.loads(text).items()},
    ),
]


Counts = Annotated[
    Mapping[str, int],
    Codec(json.dumps, lambda text: {name: whole_number(count) for name, count in json.loads(text).items()}),
]


@dataclass(frozen=True)
class DerivedLedger(Entry):
    """What one derivation wrote into its snapshot."""

    MARK: ClassVar[str] = "frazil.inputs"

    inputs: Inputs  # how far each input was read, by `namespace.table`
    query: str  # fingerprint of what made the rows: the query, its parameters, its kind
    derivation: str  # name of the work, which no other has
    rows: int = 0  # rows that it added
    removed: int = 0  # rows that it replaced
    bad: int = 0  # dead letters: rows that the query itself calls bad, or of windows far ahead of the clock
    late: int = 0  # rows of windows that were closed
    failing: Failing = field(default_factory=dict)  # rows that fail each of the spec's checks, by its name
    total_rows: int = 0  # rows of the table
    total_bad: int = 0  # all bad rows since the table was made or rebuilt; `total_late` likewise
    total_late: int = 0
    # Rows that were read of each input since the table was made or rebuilt.
    read: Counts = field(default_factory=dict)
    mixed: int = 0  # 1 where rows of an earlier query stand beside those of this one
    left_out: int = 0  # 1 where totals that came late are none of the table's
    changing: int = 0  # 1 where its rows change as it goes on, and tables that are made of it follow that
    # Microseconds since the epoch; no window that begins before it is complete is open.
    watermark: int | None = None
    now: float | None = None  # the clock of the run, seconds since the epoch: what `:now` was
    run_id: str = ""  # the Dagster run, or the command
    version: str = ""  # of Frazil

    def following(self, before: DerivedLedger | None) -> DerivedLedger:
        """The same, with the totals that it has behind another ledger; none before: all is made anew."""
        read = before.read if before else {}
        return replace(
            self,
            total_rows=before.total_rows + self.rows - self.removed if before else self.rows,
            total_bad=self.bad + (before.total_bad if before else 0),
            read={name: rows + read.get(name, 0) for name, rows in self.read.items()},
            mixed=max(self.mixed, before.mixed if before else 0),
            left_out=max(self.left_out, before.left_out if before else 0),
            total_late=self.late + (before.total_late if before else 0),
        ).handed_on(before)
