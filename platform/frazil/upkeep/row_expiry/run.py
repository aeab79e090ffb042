"""Row expiry: old rows leave the table, and the books still balance.

One commit on `main`, bound to the head that was looked at, takes whole files out and puts others in the
place of those that hold younger rows, too. Its snapshot carries a ledger: the same position, empty
spans, and how many rows went.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.errors import DifferentError
from frazil.exact import iso_moment
from frazil.landing.position.ledger import EMPTY, read_ledger
from frazil.spec.names import things
from frazil.spec.table import AnyTable
from frazil.tables.catalogs.handle import handle_of
from frazil.tables.commits.works import EXPIRING
from frazil.tables.metadata.manifests import HeadReader
from frazil.tables.metadata.snapshots import UPKEEP
from frazil.upkeep.expiry.survivors import Leaving, Says, Step, Survivors, take_out
from frazil.upkeep.kind import AS_USUAL, Kind, Known, Order, Reason, View
from frazil.upkeep.row_expiry.plan import (
    Cutoff,
    PastRows,
    RowAge,
    count_past_rows,
    find_past_rows,
    oldest_in,
    row_age,
)
from frazil.upkeep.work import WorkReport

if TYPE_CHECKING:
    from pyiceberg.table import Table

AGAIN = "Nothing: the upkeep sensor tries again; so does `frazil expire --rows`."
"""What to do where others commit all the time."""

_EVERY = timedelta(hours=1)


class RowExpiry(Kind):
    """Rows older than the spec's `keep_rows_for` leave the table."""

    name, step = "row_expiry", "expire_rows"
    about = "Deletes rows older than the spec's keep_rows_for."

    def run(self, spec: AnyTable, connections: Connections, now: float, order: Order) -> WorkReport:
        """See `Kind.run`."""
        return expire_rows(spec, connections, now, order)

    def why_due(self, known: Known, now: float) -> Reason | None:
        """See `Kind.why_due`."""
        kept, finding = row_age(known.spec), known.findings.get(self.name)
        last = known.facts.last.get(self.name)
        if kept is None or finding is None or finding.result is None:
            return None
        if not known.is_over(self, _EVERY, now) or (last and finding.at < last.at):
            return None
        age, most = now - finding.result, kept.most.total_seconds()
        if age < most:
            return None
        oldest = iso_moment(int(finding.result) * 1_000_000)
        text = f"the oldest row is of {oldest}, {age:.0f} s ago; rows are kept for {most:.0f} s."
        return Reason(text, {"oldest_row_age": round(age, 3), "keep_rows_for": most})

    def needs_look(self, known: Known, now: float) -> bool:
        """Whether it is time to ask for the oldest row."""
        if row_age(known.spec) is None or known.facts.head is None or not known.is_over(self, _EVERY, now):
            return False
        if (finding := known.unworked(self)) is None:
            return True
        return not known.current(self) and now - finding.at >= _EVERY.total_seconds()

    def look(self, view: View, known: Known, now: float) -> float | None:
        """Timestamp of the oldest record, in seconds since the epoch, as the files' statistics tell it."""
        age, fields = row_age(known.spec), view.table.schema().fields
        column = next((f.field_id for f in fields if age and f.name == age.column), None)
        if column is None:
            return None
        head = HeadReader({column}).read(view.table)
        return oldest_in(head.entries.values(), column) if head else None


def expire_rows(
    spec: AnyTable,
    connections: Connections,
    now: float,
    order: Order = AS_USUAL,
    on_step: Step = lambda _: None,
) -> WorkReport:
    """Deletes rows whose record's timestamp is older than `keep_rows_for`; one of that very age stays.

    `on_step` is told planned, written, published.
    """
    age = row_age(spec)
    if age is None:
        name = things(spec, connections.settings).table
        text = "Rows are kept forever: the spec says nothing of keep_rows_for."
        return WorkReport(str(name), "row_expiry", done=False, text=text, dry_run=order.dry_run)
    return _RowExpiry(spec, connections, now, age, on_step).run(order)


class _RowExpiry:
    """The parts that the steps of one run share."""

    def __init__(
        self, spec: AnyTable, connections: Connections, now: float, age: RowAge, on_step: Step
    ) -> None:
        self._connections = connections
        self._handle = handle_of(spec, connections)
        self._max_bytes = int(spec.upkeep.max_bytes)
        at = int(now * 1000) - int(age.most.total_seconds() * 1000)
        self._cutoff = Cutoff(age.column, at)
        orphans_after = spec.upkeep.orphans_after
        self._leaving = Leaving(self._cutoff.sql, "row expiry", EXPIRING, AGAIN, orphans_after)
        self._done = on_step

    def run(self, order: Order) -> WorkReport:
        """Plans, and does it unless nothing is past, or this is a dry run."""
        table = self._handle.load()
        past = self._past(table)
        if not past:
            return self._report(past, Survivors(), dry_run=order.dry_run)
        if order.dry_run:
            return self._would(past, count_past_rows(table, past, self._cutoff))
        self._done("planned")
        return self._expire(order.reason)

    def _expire(self, reason: str) -> WorkReport:
        why = {"frazil.upkeep-reason": reason} if reason else {}
        says = Says({UPKEEP: "row_expiry", **why}, self._books)
        taken = take_out(self._connections, self._handle, self._past, says, self._leaving, self._done)
        done = taken.done.snapshot_id
        report = self._report(taken.past, taken.survivors if done else Survivors())
        return replace(report, snapshot_id=done, conflicts=taken.conflicts)

    def _past(self, table: Table, only: frozenset[str] | None = None) -> PastRows:
        if self._cutoff.column not in table.schema().column_names:
            raise DifferentError(
                f"Table {self._handle} has no column {self._cutoff.column}.",
                meaning="The age of its rows is not known; none was deleted.",
                todo="Drop keep_rows_for from the spec, or fix metadata_names.",
            )
        return find_past_rows(table, self._cutoff, self._max_bytes, only)

    def _books(self, table: Table, expired: int, work: str) -> Mapping[str, str]:
        """The ledger of the new snapshot; none where no row went, or where nothing was ever landed."""
        before = read_ledger(table.metadata)
        if before is None or not expired:
            return {}
        entry = replace(
            EMPTY,
            expired=expired,
            expired_before=self._cutoff.at,
            landing=work,
            version=version("frazil"),
        )
        return entry.beside(before).properties()

    def _would(self, past: PastRows, mixed: int | None) -> WorkReport:
        """The report of a dry run; where the rows of mixed files can't be counted, it tells the most."""
        if mixed is not None:
            return self._report(past, Survivors(expired=mixed), "Would delete", dry_run=True)
        at_most = sum(entry.data_file.record_count for entry in past.mixed)
        return self._report(past, Survivors(expired=at_most), "Would delete up to", dry_run=True)

    def _report(
        self, past: PastRows, survivors: Survivors, verb: str = "Deleted", *, dry_run: bool = False
    ) -> WorkReport:
        kept = sum(file.file_size_in_bytes for file in survivors.staged.files)
        numbers = {
            "rows": past.rows + survivors.expired,
            "files": len(past.whole),
            "files_rewritten": len(past.mixed),
            "bytes_freed": past.bytes - kept,
            "files_waiting": past.waiting,
            "files_unjudged": past.unjudged,
        }
        text = _text(self._cutoff, past, numbers, verb, "in all" if dry_run else "freed")
        return WorkReport(str(self._handle), "row_expiry", bool(past), text, numbers=numbers, dry_run=dry_run)


def _size(freed: int, bytes_are: str) -> str:
    """A few rows that are left in a file of their own may be larger than with those that went."""
    return f"{freed} bytes {bytes_are}" if freed >= 0 else f"{-freed} bytes more than before"


def _text(cutoff: Cutoff, past: PastRows, n: dict[str, int], verb: str, bytes_are: str) -> str:
    before = datetime.fromtimestamp(cutoff.at / 1000, UTC).isoformat(sep=" ", timespec="seconds")
    text = f"No file holds enough rows older than {before}"
    if past:
        text = (
            f"{verb} {n['rows']} rows older than {before}: {n['files']} files by metadata alone, "
            f"{n['files_rewritten']} rewritten; {_size(n['bytes_freed'], bytes_are)}"
        )
    waiting = f"; {n['files_waiting']} files that hold younger rows, too, wait" if n["files_waiting"] else ""
    blind = f"; {n['files_unjudged']} have no statistics of {cutoff.column}" if n["files_unjudged"] else ""
    return f"{text}{waiting}{blind}."
