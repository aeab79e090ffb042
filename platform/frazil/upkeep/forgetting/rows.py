"""Rows leave one table: only the files that hold them are written anew, in one commit bound to the head."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import takewhile
from typing import TYPE_CHECKING

from pydantic import ByteSize

from frazil.connections import Connections
from frazil.spec.names import TableName
from frazil.spec.table import AnyTable
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.commit import set_properties
from frazil.tables.commits.erasure import noted, one_more
from frazil.tables.commits.works import FORGETTING
from frazil.tables.metadata.files import leaner
from frazil.tables.metadata.manifests import delete_manifests
from frazil.tables.metadata.rows import rows_added
from frazil.tables.metadata.snapshots import UPKEEP, ancestors
from frazil.tables.rewrites.remainder import Sought, find_holding, rows_by_file
from frazil.tables.spark.faults import Job
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.expiry.survivors import Leaving, Says, take_out
from frazil.upkeep.kind import Order
from frazil.upkeep.row_expiry.plan import PastRows

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.table import Table

_ALL = ByteSize(2**62)

_TODO = "Forget again: it goes on from what is there."

Books = Callable[["Table", int, str], Mapping[str, str]]
"""What a ledger says behind a head of which so many rows go, by work of a name; empty: there is none."""


@dataclass(frozen=True)
class Going:
    """Rows of one table that are to go."""

    handle: TableHandle
    sql: str  # true of these rows
    expression: BooleanExpression  # true of these rows at least: tells the files that can hold them
    orphans_after: timedelta  # age at which the table's files go that no snapshot names
    books: Books = lambda *_: {}
    early: bool = False  # rows are kept here before the work that met them is published

    @property
    def leaving(self) -> Leaving:
        """The same as their work is named."""
        after = self.orphans_after
        return Leaving(self.sql, "forgetting", FORGETTING, _TODO, after, untold=True, marks=True)


@dataclass(frozen=True, slots=True)
class Gone:
    """What went of one table or, on a dry run, would go."""

    table: str
    rows: int = 0
    files: tuple[str, ...] = ()  # paths of the files that held the rows
    written: tuple[str, ...] = ()  # paths of those in their place
    snapshot_id: int | None = None
    sequence: int = 0  # of that snapshot


@dataclass(frozen=True, slots=True)
class Left:
    """A table that rows went from, and which; None: it was made anew as a whole."""

    gone: Gone
    going: Going | None = None


def count_going(going: Going, connections: Connections) -> Gone:
    """Counts the rows, and the files that hold them; changes nothing.

    By the Spark of landings: somebody waits for it, and upkeep's own stands behind all that is busy.
    """
    table = going.handle.load()
    rows = rows_by_file(connections.spark, table, going.sql, _job(going))
    return Gone(str(going.handle), sum(rows.values()), tuple(sorted(rows)))


def apply_deletes(spec: AnyTable, connections: Connections, name: TableName) -> None:
    """Writes the files anew of which delete files hide rows: these stay in them, out of everyone's sight."""
    if not delete_manifests(TableHandle(connections.catalog, name).load()):
        return
    none = spec.upkeep.model_copy(update={"delete_files": 0, "max_bytes": _ALL})
    order = Order("rows are forgotten, those that delete files hide too")
    compact(spec.model_copy(update={"upkeep": none}), connections, time.time(), order)


def take_rows(going: Going, connections: Connections, due: int) -> Gone:
    """Takes the rows out of `main`; all that is older than that commit goes at `due` (ms since 1970).

    The commit is made also where no row is left at the head: older snapshots may hold some, and work that
    began before it may bring some. Who publishes behind it compares `forgettings`.

    Raises:
        CommitConflictError: Others changed the same files time and again.
    """

    def properties(table: Table) -> Mapping[str, str]:
        return noted(table, due, table.metadata.next_sequence_number())

    says = Says({UPKEEP: "forgetting"}, going.books, properties)
    taken = take_out(
        connections,
        going.handle,
        _Finder(going, connections),
        says,
        going.leaving,
    )
    done = taken.done
    if done.snapshot_id is None:  # nothing was ever written to it
        return Gone(str(going.handle))
    made = done.table.metadata.snapshot_by_id(done.snapshot_id)
    written = tuple(file.file_path for file in taken.survivors.staged.files)
    sequence = (made.sequence_number or 0) if made else 0
    paths = tuple(sorted(taken.past.paths))
    return Gone(str(going.handle), taken.rows, paths, written, done.snapshot_id, sequence)


def came_since(going: Going, gone: Gone) -> bool:
    """Whether rows came into a table behind the snapshot that forgot some.

    Of rows that are kept early, those that come behind this look are refused.
    """
    table = going.handle.load()
    if going.early:
        set_properties(going.handle, one_more(table))
        table = going.handle.load()
    newer = takewhile(lambda s: s.snapshot_id != gone.snapshot_id, ancestors(table.metadata))
    return gone.snapshot_id is not None and any(rows_added(table, s) for s in newer)


def leave_behind(handle: TableHandle, due: int) -> Gone:
    """Has all that is older than a table's head go at `due`: the head holds nothing to be forgotten."""
    table = handle.load()
    head = table.current_snapshot()
    if head is None:
        return Gone(str(handle))
    sequence = head.sequence_number or 0
    set_properties(handle, noted(table, due, sequence))
    return Gone(str(handle), snapshot_id=head.snapshot_id, sequence=sequence)


@dataclass
class _Finder:
    """Finds the files of a head that hold such rows, by reading the columns in question; once per head."""

    going: Going
    connections: Connections
    head: int | None = None
    matching: PastRows | None = None

    def __call__(self, table: Table, _only: frozenset[str] | None = None) -> PastRows:
        if self.matching is None or self.head != table.metadata.current_snapshot_id:
            self.head, self.matching = table.metadata.current_snapshot_id, self._find(table)
        return self.matching

    def _find(self, table: Table) -> PastRows:
        going = self.going
        sought = Sought(going.sql, going.expression, "forgotten", "No row was deleted.", "forget")
        holding = find_holding(self.connections.background_spark, table, sought, _job(going))
        if not holding.counts:
            return PastRows()
        for entry in (*holding.whole, *holding.mixed.entries):  # no bound of them is handed on
            leaner(entry, ())
        return PastRows(
            whole=holding.whole,
            mixed=holding.mixed.entries,
            named=holding.mixed.named,
            deletes=holding.deletes,
        )


def _job(going: Going) -> Job:
    return Job("forgetting", str(going.handle), "Nothing was changed.", "Try again.")
