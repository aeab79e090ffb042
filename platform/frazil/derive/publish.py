"""How the head of a derived table moves: forward by a derivation that is written, back by a rollback."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from frazil.connections import Connections
from frazil.derive.positions.ledger import DerivedLedger
from frazil.derive.write import forgotten_meanwhile
from frazil.errors import OvertakenError
from frazil.spec.derived import DerivedSpec
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import handle_of, name_of
from frazil.tables.commits.erasure import forgettings
from frazil.tables.commits.rollback import Rollback, report_of, turn_back
from frazil.tables.commits.stage import Staged, put_in_place
from frazil.tables.metadata.rows import stored_rows
from frazil.tables.metadata.snapshots import ancestors

if TYPE_CHECKING:
    from pyiceberg.table import Table, Transaction


@dataclass(frozen=True)
class Derived(Staged):
    """Files of rows, and the position that they bring the table to."""

    ledger: DerivedLedger  # what the snapshot will say, but for its totals
    # The derivation whose ledger was the newest one when this one was planned; empty: there was none.
    base: str
    whole: bool = False  # whether the files replace all files of the table
    takes_over: bool = False  # whether it follows whatever derivation is the newest by now
    # Where not all are replaced, those that are: path to rows.
    removed: Mapping[str, int] = field(default_factory=dict)
    deletes: frozenset[str] = frozenset()  # paths of the manifests of delete files that were heeded
    forgettings: int = 0  # how often rows of the table had been looked for to be forgotten

    work: ClassVar[str] = "derivation"
    resumes: ClassVar[bool] = False

    def next_entry(self, table: Table) -> DerivedLedger:
        """See `Staged.next_entry`. A rebuild may leave the position, so it goes by the derivation."""
        name = name_of(table)
        if forgettings(table.metadata) != self.forgettings:
            raise forgotten_meanwhile(name)
        before = DerivedLedger.newest(table.metadata, whatever_it_holds=self.whole)
        newest = before.derivation if before else ""
        if newest != self.base and not self.takes_over:
            raise OvertakenError(
                f"Another derivation of {name}, or a rollback, was quicker; this one was dropped.",
                where=f"newest is {newest or 'none'}, planned behind {self.base or 'none'}",
                meaning="Every row of the inputs counts exactly once; nothing of this derivation is visible.",
                todo="Nothing. Derive again if rows wait.",
            )
        if self.whole:
            head = next(ancestors(table.metadata), None)
            return replace(self.ledger, removed=stored_rows(table, head)).following(None)
        return replace(self.ledger, removed=sum(self.removed.values())).following(before)

    def put(self, tx: Transaction, table: Table, summary: Mapping[str, str]) -> None:
        """See `Staged.put`; raises as `put_in_place` does."""
        removed = None if self.whole else self.removed.keys()
        put_in_place(tx, table, removed, self.staged, summary, self.deletes)


_FOLLOWS = "The next derivation makes what came later once more."


@dataclass(frozen=True, kw_only=True)
class DerivedRollback(Rollback):
    """What one rollback did; the next derivation begins behind the snapshots in `inputs`, or reads all."""

    inputs: Mapping[str, int]


def roll_back_derived(spec: DerivedSpec, connections: Connections, to: int | datetime) -> DerivedRollback:
    """Takes a table and its position back; see `turn_back`."""
    handle = handle_of(spec, connections)
    with catalog_errors(connections.settings):
        turn = turn_back(handle, to, DerivedLedger)
    read = turn.recorded.entry.inputs if turn.recorded.entry else {}
    base = report_of(handle.name, turn, _FOLLOWS, published=bool(spec.publish))
    return DerivedRollback(**vars(base), inputs={each: at.snapshot for each, at in read.items()})
