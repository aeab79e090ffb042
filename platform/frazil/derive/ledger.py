"""The position of a table that is made of others: which snapshot of each input its rows come from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar

from frazil.tables.ledger import Codec, Entry


@dataclass(frozen=True, slots=True)
class Position:
    """How far one input was read: the table's own uuid, the newest snapshot, its sequence number."""

    uuid: str
    snapshot: int
    sequence: int


Inputs = Annotated[
    Mapping[str, Position],
    Codec(
        lambda inputs: json.dumps({t: [p.uuid, p.snapshot, p.sequence] for t, p in sorted(inputs.items())}),
        lambda text: {table: Position(*values) for table, values in json.loads(text).items()},
    ),
]


Counts = Annotated[Mapping[str, int], Codec(json.dumps, json.loads)]


@dataclass(frozen=True)
class DerivedLedger(Entry):
    """What one derivation wrote into its snapshot.

    Args:
        inputs: How far each input was read, by `namespace.table`.
        query: Fingerprint of what made the rows: the query, its parameters, its kind.
        derivation: Unique name, which is also that of its branch.
        rows: Rows that it added.
        removed: Rows that it replaced.
        bad: Dead letters: rows that the query itself calls bad, or of windows far ahead of the clock.
        late: Rows of windows that were closed.
        total_rows: Rows of the table.
        total_bad: All bad rows since the table was made or rebuilt; `total_late` likewise.
        read: Rows that were read of each input since the table was made or rebuilt.
        mixed: 1 where rows of an earlier query stand beside those of this one.
        watermark: Microseconds since the epoch; no window that begins before it is complete is open.
        now: The clock of the run, seconds since the epoch: what `:now` was.
        run_id: The Dagster run, or the command.
        version: Of Frazil.
    """

    MARK: ClassVar[str] = "frazil.inputs"

    inputs: Inputs
    query: str
    derivation: str
    rows: int = 0
    removed: int = 0
    bad: int = 0
    late: int = 0
    total_rows: int = 0
    total_bad: int = 0
    total_late: int = 0
    read: Counts = field(default_factory=dict)
    mixed: int = 0
    watermark: int | None = None
    now: float | None = None
    run_id: str = ""
    version: str = ""

    def following(self, before: DerivedLedger | None) -> DerivedLedger:
        """The same, with the totals that it has behind another ledger; none before: all is made anew."""
        read = before.read if before else {}
        return replace(
            self,
            total_rows=before.total_rows + self.rows - self.removed if before else self.rows,
            total_bad=self.bad + (before.total_bad if before else 0),
            read={name: rows + read.get(name, 0) for name, rows in self.read.items()},
            mixed=max(self.mixed, before.mixed if before else 0),
            total_late=self.late + (before.total_late if before else 0),
        ).handed_on(before)
