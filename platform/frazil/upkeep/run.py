"""One kind of upkeep on one table: who does it, how long it took, and the table's memory of it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.errors import CommitConflictError
from frazil.spec.names import TableName, things
from frazil.spec.table import AnyTable
from frazil.tables.catalog import catalog_errors, is_conflict, load_table
from frazil.tables.properties import set_properties
from frazil.tables.spark import spark_errors
from frazil.upkeep.news import only_upkeep_since
from frazil.upkeep.work import Kind, LastWork, WorkReport, remembered

if TYPE_CHECKING:
    from pyiceberg.table import Table


__all__ = ["do_work"]


def do_work(
    kind: Kind,
    spec: AnyTable,
    connections: Connections,
    now: float,
    *,
    dry_run: bool = False,
    everything: bool = False,
    reason: str = "",
) -> WorkReport:
    """Does it, and lets the table remember that.

    Args:
        kind: Which work.
        spec: The table's spec.
        connections: The outside systems.
        now: Seconds since the epoch.
        dry_run: Tell only what would be done; nothing is touched.
        everything: Compaction: rewrite all files, those too that are large enough.
        reason: Noted in the snapshot.

    Raises:
        MissingError: There is no such table.
        PartDownError: The catalog or Spark does not answer.
        CommitConflictError: Others kept committing in between.
    """
    name, settings = things(spec, connections.settings).table, connections.settings
    started = time.perf_counter()
    with catalog_errors(settings), spark_errors(settings.of_upkeep):
        before = load_table(connections.catalog, name)
        try:
            report = _do(kind, spec, connections, now, dry_run=dry_run, everything=everything, reason=reason)
        except Exception as e:
            if is_conflict(e):
                raise _conflict(kind, name) from e
            raise
        report = replace(report, seconds=round(time.perf_counter() - started, 3))
        if not dry_run:
            _remember(name, connections, report, before, now)
    return report


def _do(
    kind: Kind,
    spec: AnyTable,
    connections: Connections,
    now: float,
    *,
    dry_run: bool,
    everything: bool,
    reason: str,
) -> WorkReport:
    from frazil.upkeep.compaction import compact
    from frazil.upkeep.expiry import expire
    from frazil.upkeep.orphans import remove_orphans
    from frazil.upkeep.row_expiry import expire_rows

    if kind == "compaction":
        return compact(spec, connections, now, dry_run=dry_run, everything=everything, reason=reason)
    others = {"expiry": expire, "orphans": remove_orphans, "row_expiry": expire_rows}
    return others[kind](spec, connections, now, dry_run=dry_run, reason=reason)


def _remember(
    name: TableName, connections: Connections, report: WorkReport, before: Table, now: float
) -> None:
    """Sets the table property; the head it names is one that the work has seen, never a later one."""
    seen, after = _head(before), load_table(connections.catalog, name)
    quiet = only_upkeep_since(after.metadata, seen, (report.kind,))
    head = _head(after) if quiet else seen
    last = LastWork(at=now + report.seconds, text=report.text, snapshot_id=head)
    set_properties(connections.catalog, name, remembered(report.kind, last))


def _head(table: Table) -> int | None:
    head = table.current_snapshot()
    return head.snapshot_id if head else None


def _conflict(kind: Kind, name: TableName) -> CommitConflictError:
    return CommitConflictError(
        f"Others kept committing to table {name} during its {kind.replace('_', ' ')}.",
        meaning="The table is as the others left it.",
        todo="Nothing: the upkeep sensor tries again; so does the command.",
    )
