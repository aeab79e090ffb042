"""The position of a table that is made of others: which snapshot of each input its rows come from.

As with a landing, the newest ancestor of `main` that says so is the truth, and a copy in the table's
properties, set by the same commit, survives expiry.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from frazil.tables.snapshots import ancestors, is_first, summary_of

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

__all__ = ["INPUTS", "DerivedLedger", "Position", "derived_ledgers", "ledger_in", "read_derived"]

INPUTS = "frazil.inputs"
"""The property that every ledger of a derived table has, and no other snapshot."""


@dataclass(frozen=True, slots=True)
class Position:
    """How far one input was read.

    Args:
        uuid: The table's own, which one of the same name that was made again does not have.
        snapshot: The newest snapshot that was read.
        sequence: Its sequence number.
    """

    uuid: str
    snapshot: int
    sequence: int


@dataclass(frozen=True, slots=True)
class DerivedLedger:
    """What one derivation wrote into its snapshot.

    Args:
        inputs: How far each input was read, by `namespace.table`.
        query: Fingerprint of what made the rows: the query, its parameters, its kind.
        derivation: Unique name, which is also that of its branch.
        rows: Rows that it added.
        removed: Rows that it put others in the place of.
        bad: Rows that the query itself calls bad, and that are dead letters.
        late: Rows of windows that were closed.
        total_rows: Rows of the table.
        total_bad: All bad ones, since the table was made or rebuilt.
        total_late: All late ones, likewise.
        watermark: Microseconds since the epoch; no window that begins before it is complete is open.
        now: The clock of the run, seconds since the epoch: what `:now` was.
        run_id: The Dagster run, or the command.
        version: Of Frazil.
    """

    inputs: Mapping[str, Position]
    query: str
    derivation: str
    rows: int = 0
    removed: int = 0
    bad: int = 0
    late: int = 0
    total_rows: int = 0
    total_bad: int = 0
    total_late: int = 0
    watermark: int | None = None
    now: float | None = None
    run_id: str = ""
    version: str = ""

    def following(self, before: DerivedLedger | None) -> DerivedLedger:
        """The same, with the totals that it has behind another ledger; none before: all is made anew."""
        return replace(
            self,
            total_rows=before.total_rows + self.rows - self.removed if before else self.rows,
            total_bad=self.bad + (before.total_bad if before else 0),
            total_late=self.late + (before.total_late if before else 0),
        )

    def properties(self) -> dict[str, str]:
        """As summary properties; also as table properties."""
        return {
            INPUTS: json.dumps({t: [p.uuid, p.snapshot, p.sequence] for t, p in sorted(self.inputs.items())}),
            "frazil.query": self.query,
            "frazil.derivation": self.derivation,
            "frazil.rows": str(self.rows),
            "frazil.removed": str(self.removed),
            "frazil.bad": str(self.bad),
            "frazil.late": str(self.late),
            "frazil.total-rows": str(self.total_rows),
            "frazil.total-bad": str(self.total_bad),
            "frazil.total-late": str(self.total_late),
            "frazil.watermark": "" if self.watermark is None else str(self.watermark),
            "frazil.now": "" if self.now is None else str(self.now),
            "frazil.run-id": self.run_id,
            "frazil.version": self.version,
        }

    @classmethod
    def parse(cls, properties: Mapping[str, str]) -> DerivedLedger:
        """The opposite of `properties`."""
        watermark, now = properties["frazil.watermark"], properties["frazil.now"]
        return cls(
            inputs={table: Position(*values) for table, values in json.loads(properties[INPUTS]).items()},
            query=properties["frazil.query"],
            derivation=properties["frazil.derivation"],
            rows=int(properties["frazil.rows"]),
            removed=int(properties["frazil.removed"]),
            bad=int(properties["frazil.bad"]),
            late=int(properties["frazil.late"]),
            total_rows=int(properties["frazil.total-rows"]),
            total_bad=int(properties["frazil.total-bad"]),
            total_late=int(properties["frazil.total-late"]),
            watermark=int(watermark) if watermark else None,
            now=float(now) if now else None,
            run_id=properties["frazil.run-id"],
            version=properties["frazil.version"],
        )


def ledger_in(snapshot: Snapshot) -> DerivedLedger | None:
    """What the snapshot says, or None where no derivation made it."""
    said = summary_of(snapshot)
    return DerivedLedger.parse(said) if INPUTS in said else None


def derived_ledgers(metadata: TableMetadata) -> Iterator[tuple[Snapshot, DerivedLedger]]:
    """The ledgers of `main`, newest first, each with its snapshot, as far back as these are kept."""
    return ((snapshot, ledger) for snapshot in ancestors(metadata) if (ledger := ledger_in(snapshot)))


def read_derived(metadata: TableMetadata) -> DerivedLedger | None:
    """The newest ledger of `main`, or None where nothing was derived yet.

    The copy counts only where expiry removed the snapshots that would tell (see `read_ledger`).
    """
    for snapshot in ancestors(metadata):
        if (ledger := ledger_in(snapshot)) or is_first(snapshot):
            return ledger
    return DerivedLedger.parse(metadata.properties) if INPUTS in metadata.properties else None
