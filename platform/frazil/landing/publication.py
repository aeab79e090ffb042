"""Landings and redrives that are written and audited, as they are published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from frazil.errors import OvertakenError
from frazil.landing.cut.note import refuse_passing, tag_reached
from frazil.landing.halts.halt import refuse_halted
from frazil.landing.position.ledger import Ledger, read_ledger
from frazil.tables.catalogs.handle import name_of
from frazil.tables.commits.erasure import forgettings
from frazil.tables.commits.stage import Staged
from frazil.tables.keys import NAMES, Key, keys_in

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.table import Table, Transaction


@dataclass(frozen=True)
class Landed(Staged):
    """Files of records, and the position that they bring the table to."""

    ledger: Ledger  # what the snapshot will say, but for its totals
    base: Ledger | None  # the newest ledger when it was planned; None where the table had none

    def next_entry(self, table: Table) -> Ledger:
        """See `Staged.next_entry`."""
        refuse_halted(table)
        before = read_ledger(table.metadata)
        now, then = (ledger and ledger.place for ledger in (before, self.base))
        if now != then:
            raise OvertakenError(
                f"Another landing of {name_of(table)} was quicker; this one was dropped.",
                where=f"position now {now}, planned from {then}",
                meaning="Every record is in the table exactly once; nothing of this landing is visible.",
                todo="Nothing. Land again if more records wait.",
            )
        refuse_passing(table, self.ledger)
        return self.ledger.following(before)

    def settle(self, tx: Transaction, table: Table) -> None:
        """See `Staged.settle`: a landing may bring the table to a cut."""
        tag_reached(tx, read_ledger(table.metadata), self.ledger)


@dataclass(frozen=True)
class Redriven(Landed):
    """A redrive that is written and audited, but not visible."""

    head: int = 0  # the snapshot of `main` that held none of the records
    keys: frozenset[Key] = frozenset()
    names: tuple[str, str] = NAMES  # the table's columns of partition and offset
    expired: int = 0  # rows that had expired, or been forgotten, at that snapshot
    among: BooleanExpression | None = None  # the rows that may be of these records
    forgettings: int = 0  # how often rows had been looked for to be forgotten, at that snapshot

    resumes: ClassVar[bool] = False

    def next_entry(self, table: Table) -> Ledger:
        """See `Staged.next_entry`. The position may move in between, and stays where it is then."""
        before = read_ledger(table.metadata)
        forgotten = forgettings(table.metadata) != self.forgettings
        if before is None or forgotten or self._passed(before) or self._are_present(table):
            raise OvertakenError(
                f"Another redrive, a row expiry or a forgetting of {name_of(table)} was quicker; "
                "this one was dropped.",
                where=f"{len(self.keys)} dead letters",
                meaning="Every record is in the table at most once; nothing of this redrive is visible.",
                todo="Nothing. Redrive again if dead letters are left.",
            )
        return self.ledger.beside(before)

    def _passed(self, before: Ledger) -> bool:
        """Whether the position went back, or rows expired, which may have been of these records."""
        same = self.base is not None and self.base.log == before.log
        covered = same and all(before.covers(*key) for key in self.keys)
        return before.total_taken != self.expired or not covered

    def _are_present(self, table: Table) -> bool:
        head = table.current_snapshot()
        looked_at = head is not None and head.snapshot_id == self.head
        return not looked_at and bool(keys_in(table, self.keys, self.names, self.among))
