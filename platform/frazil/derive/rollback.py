"""Rollback of a derived table: an earlier snapshot becomes its head, and its position goes back with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import dropwhile
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.derive.ledger import DerivedLedger, derived_ledgers, read_derived
from frazil.errors import CommitConflictError, RepairError
from frazil.landing.rollback import moment_of, move_main, row_count, target_of
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import TableName, things
from frazil.tables.catalog import catalog_errors
from frazil.tables.heads import TRIES, heads
from frazil.tables.ledger import Told
from frazil.tables.snapshots import ancestors

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot


__all__ = ["DerivedRollback", "roll_back_derived"]


@dataclass(frozen=True, slots=True)
class DerivedRollback:
    """What one rollback did.

    Args:
        table: Its identifier.
        snapshot_id: The head of `main` now.
        from_snapshot_id: The head before.
        inputs: The snapshot of each input behind which the next derivation begins; empty: it reads all.
        rows: Rows of the table now.
        rows_before: Rows before.
        done: Whether the head moved.
        text: The same in a few sentences, and what to do next.
    """

    table: str
    snapshot_id: int
    from_snapshot_id: int
    inputs: Mapping[str, int]
    rows: int
    rows_before: int
    done: bool
    text: str


def roll_back_derived(spec: DerivedSpec, connections: Connections, to: int | datetime) -> DerivedRollback:
    """Makes an ancestor of `main` its head, and that snapshot's position the table's, in one commit.

    The next derivation makes what came later once more.

    Args:
        spec: The table.
        connections: The environment.
        to: A snapshot's id, or a moment: the newest snapshot that is not younger is meant.

    Raises:
        MissingError: There is no such table, or no such snapshot among the ancestors of `main`.
        RepairError: Nothing tells the position of that snapshot any more.
        CommitConflictError: Others kept committing in between.
    """
    name = things(spec, connections.settings).table
    with catalog_errors(connections.settings):
        for table in heads(connections.catalog, name):
            target = target_of(name, table, to)
            told = _told_at(name, table, target)
            report = _report(spec, name, table, target, told.entry)
            if not report.done or move_main(table, target, DerivedLedger, told):
                return report
    raise CommitConflictError(
        f"The catalog refused a rollback of {name} {TRIES} times.",
        meaning="Others commit to the table all the time; the table is as they left it.",
        todo="Roll back again.",
    )


def _told_at(name: TableName, table: Table, target: Snapshot) -> Told[DerivedLedger]:
    """What the table says of its position once the snapshot is its head."""
    line = dropwhile(lambda s: s.snapshot_id != target.snapshot_id, ancestors(table.metadata))
    if told := DerivedLedger.told(line):
        return told
    if read_derived(table.metadata) is None:
        return Told(None, 0)
    kept = ", ".join(f"{s.snapshot_id} ({moment_of(s)})" for s, _ in derived_ledgers(table.metadata))
    raise RepairError(
        f"The position of snapshot {target.snapshot_id} of {name} is no longer known.",
        where=f"made {moment_of(target)}; the snapshot of the derivation before it is expired",
        meaning="A derivation behind it could not tell which rows the table holds. Nothing was changed.",
        todo=f"Roll back to one of these: {kept}; or `frazil derive {name} --rebuild` makes it anew.",
    )


def _report(
    spec: DerivedSpec, name: TableName, table: Table, target: Snapshot, ledger: DerivedLedger | None
) -> DerivedRollback:
    head = next(ancestors(table.metadata))
    done = head.snapshot_id != target.snapshot_id
    text = f"{name} is at snapshot {target.snapshot_id} already, made {moment_of(target)}."
    if done:
        text = (
            f"{name} is again as it was at snapshot {target.snapshot_id}, made {moment_of(target)}; "
            "its columns stay as they are. The next derivation makes what came later once more."
        )
        text += f" Glue and Snowflake show it after `frazil sync {name}`." if spec.publish else ""
    return DerivedRollback(
        str(name),
        target.snapshot_id,
        head.snapshot_id,
        {each: position.snapshot for each, position in ledger.inputs.items()} if ledger else {},
        row_count(target),
        row_count(head),
        done,
        text,
    )
