"""Row expiry: rows older than the spec's `keep_rows_for` leave the table, and the books still balance.

One commit on `main`, bound to the head that was looked at, takes whole files out and puts others in the
place of those that hold younger rows, too. Its snapshot carries a ledger: the same position, empty
spans, and how many rows went.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import islice
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.errors import CommitConflictError, DifferentError
from frazil.landing.ledger import Ledger, read_ledger
from frazil.spec.names import things
from frazil.spec.table import AnyTable
from frazil.tables.branches import EXPIRING, leave_branch, new_branch
from frazil.tables.catalog import load_table
from frazil.tables.heads import TRIES, heads, through
from frazil.tables.ledger import copied
from frazil.tables.snapshots import ancestors
from frazil.upkeep.news import SUMMARY
from frazil.upkeep.past_rows import Cutoff, PastRows, find_past_rows
from frazil.upkeep.row_age import RowAge, row_age
from frazil.upkeep.survivors import Survivors, write_survivors
from frazil.upkeep.work import WorkReport

if TYPE_CHECKING:
    from pyiceberg.table import Table


__all__ = ["expire_rows"]

Step = Callable[[str], None]

_LOOK_BACK = 100
"""Snapshots that others may have added since a commit of ours whose answer was lost."""


def expire_rows(
    spec: AnyTable,
    connections: Connections,
    now: float,
    *,
    dry_run: bool = False,
    reason: str = "",
    on_step: Step = lambda _: None,
) -> WorkReport:
    """Deletes rows whose record's timestamp is older than `keep_rows_for`; one of that very age stays.

    Args:
        spec: The table's spec.
        connections: The outside systems.
        now: Seconds since the epoch.
        dry_run: Tell only what would be done; nothing is touched.
        reason: Noted in the snapshot.
        on_step: Told planned, written, published.

    Raises:
        MissingError: There is no such table.
        DifferentError: The table has no column of the record's timestamp.
        CommitConflictError: Others kept committing in between.
    """
    age = row_age(spec)
    if age is None:
        name = things(spec, connections.settings).table
        text = "Rows are kept for ever: the spec says nothing of keep_rows_for."
        return WorkReport(str(name), "row_expiry", done=False, text=text, dry_run=dry_run)
    return _RowExpiry(spec, connections, now, age, on_step).run(reason, dry_run=dry_run)


class _RowExpiry:
    """The parts that the steps of one run share."""

    def __init__(
        self, spec: AnyTable, connections: Connections, now: float, age: RowAge, on_step: Step
    ) -> None:
        self._connections = connections
        self._catalog = connections.catalog
        self._name = things(spec, connections.settings).table
        self._max_bytes = int(spec.upkeep.max_bytes)
        at = int(now * 1000) - int(age.most.total_seconds() * 1000)
        self._cutoff = Cutoff(age.column, at)
        self._done = on_step
        self._branches: list[str] = []
        self._tried: dict[int, PastRows] = {}

    def run(self, reason: str, *, dry_run: bool) -> WorkReport:
        """Plans, and does it unless nothing is past, or nothing shall be touched."""
        past = self._past(load_table(self._catalog, self._name))
        if dry_run or not past:
            return self._report(past, Survivors(), dry_run=dry_run)
        self._done("planned")
        try:
            return self._expire(reason)
        finally:
            self._leave_branches()

    def _expire(self, reason: str) -> WorkReport:
        survivors = self._survivors()
        self._done("written")
        for conflicts, table in enumerate(heads(self._catalog, self._name)):
            if done := self._published(table):
                return self._report(self._tried[done], survivors, done, conflicts)
            past = self._past(table, survivors.replaced)
            if not survivors.fit(past, table.spec().spec_id):  # a compaction took one of the files
                survivors = self._survivors()
            elif not past:
                return self._report(past, Survivors(), conflicts=conflicts)
            elif done := self._commit(table, past, survivors, reason):
                self._done("published")
                return self._report(past, survivors, done, conflicts)
        raise self._refused()

    def _past(self, table: Table, only: frozenset[str] | None = None) -> PastRows:
        if self._cutoff.column not in table.schema().column_names:
            raise DifferentError(
                f"Table {self._name} has no column {self._cutoff.column}.",
                meaning="The age of its rows is not known; none was deleted.",
                todo="Drop keep_rows_for from the spec, or mend metadata_names.",
            )
        return find_past_rows(table, self._cutoff, self._max_bytes, only)

    def _survivors(self) -> Survivors:
        """Of the mixed files of the present head, on a new branch."""
        for table in heads(self._catalog, self._name):
            self._branches.append(new_branch(EXPIRING))
            with suppress(CommitConflictError):
                return write_survivors(
                    self._connections, self._name, table, self._past(table), self._cutoff, self._branches[-1]
                )
        raise self._refused()

    def _published(self, table: Table) -> int | None:
        """Our snapshot, if an earlier try went through unnoticed."""
        found = (s.snapshot_id for s in islice(ancestors(table.metadata), _LOOK_BACK))
        return next((i for i in found if i in self._tried), None)

    def _commit(self, table: Table, past: PastRows, survivors: Survivors, reason: str) -> int | None:
        """One try; the new snapshot's id, or None where the catalog refused."""
        from pyiceberg.table.update import RemoveSnapshotRefUpdate

        from frazil.tables.swap import Swap

        books = self._books(table, past.rows + survivors.expired)
        why = {"frazil.upkeep-reason": reason} if reason else {}
        said = {SUMMARY: "row_expiry", **why, **books}
        tx = table.transaction()
        if books:
            tx.set_properties(copied(books, table.metadata.next_sequence_number()))
        swap = Swap(tx, said, (*past.whole, *past.mixed), past.touched, survivors.files)
        self._tried[swap.snapshot_id] = past
        swap.commit()
        if survivors.branch in table.metadata.refs:
            tx._apply((RemoveSnapshotRefUpdate(ref_name=survivors.branch),))
        return swap.snapshot_id if through(tx.commit_transaction) else None

    def _books(self, table: Table, expired: int) -> dict[str, str]:
        """The ledger of the new snapshot; none where no row went, or where nothing was ever landed."""
        before = read_ledger(table.metadata)
        if before is None or not expired:
            return {}
        entry = Ledger(
            topic=before.topic,
            topic_id=before.topic_id,
            spans={p: (at, at) for p, at in before.position.items()},
            start=before.start,
            expired=expired,
            expired_before=self._cutoff.at,
            max_timestamp=before.max_timestamp,
            landing=self._branches[-1],
            version=version("frazil"),
        )
        return entry.following(before).properties()

    def _refused(self) -> CommitConflictError:
        return CommitConflictError(
            f"The catalog refused a row expiry of {self._name} {TRIES} times.",
            meaning="Others commit to the table all the time; the table is as they left it.",
            todo="Nothing: the upkeep sensor tries again.",
        )

    def _leave_branches(self) -> None:
        for branch in self._branches:
            leave_branch(self._catalog, self._name, branch)

    def _report(
        self,
        past: PastRows,
        survivors: Survivors,
        snapshot_id: int | None = None,
        conflicts: int = 0,
        *,
        dry_run: bool = False,
    ) -> WorkReport:
        numbers = _numbers(past, survivors)
        return WorkReport(
            table=str(self._name),
            kind="row_expiry",
            done=bool(past),
            text=_text(self._cutoff, past, numbers, dry_run=dry_run),
            snapshot_id=snapshot_id,
            numbers=numbers,
            conflicts=conflicts,
            dry_run=dry_run,
        )


def _numbers(past: PastRows, survivors: Survivors) -> dict[str, int]:
    kept = sum(file.file_size_in_bytes for file in survivors.files)
    return {
        "rows": past.rows + survivors.expired,
        "files": len(past.whole),
        "files_rewritten": len(past.mixed),
        "bytes_freed": past.bytes - kept,
        "files_waiting": past.waiting,
        "files_unjudged": past.unjudged,
    }


def _text(cutoff: Cutoff, past: PastRows, n: dict[str, int], *, dry_run: bool) -> str:
    before = datetime.fromtimestamp(cutoff.at / 1000, UTC).isoformat(sep=" ", timespec="seconds")
    told = f"No file holds enough rows older than {before}"
    if past and dry_run:
        told = (
            f"Would delete {n['rows']} rows older than {before}, {n['files']} files by metadata alone, and "
            f"those in {n['files_rewritten']} files to be rewritten ({n['bytes_freed']} bytes in all)"
        )
    elif past:
        told = (
            f"Deleted {n['rows']} rows older than {before}: {n['files']} files by metadata alone, "
            f"{n['files_rewritten']} rewritten; {n['bytes_freed']} bytes freed"
        )
    waiting = f"; {n['files_waiting']} files that hold younger rows, too, wait" if n["files_waiting"] else ""
    blind = f"; {n['files_unjudged']} have no statistics of {cutoff.column}" if n["files_unjudged"] else ""
    return f"{told}{waiting}{blind}."
