"""Snapshot expiry: old snapshots go, with the files that only they name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.spec.names import TableName
from frazil.spec.table import AnyTable
from frazil.tables.catalogs.handle import TableHandle, handle_of
from frazil.tables.catalogs.pyiceberg import transaction
from frazil.tables.commits.commit import commit, set_properties
from frazil.tables.commits.staging import remove_ref, remove_snapshots
from frazil.tables.creation import METADATA_STAYS
from frazil.upkeep.expiry.references import references_of
from frazil.upkeep.expiry.retention import aged_refs, plan_expiry
from frazil.upkeep.kind import AS_USUAL, Kind, Known, Order, Reason, View, since
from frazil.upkeep.storage import (
    delete_files,
    kept_tables,
    may_delete_files,
    named_only_by,
    old_metadata,
    read_present,
    statistics_of,
)
from frazil.upkeep.work import WorkReport

if TYPE_CHECKING:
    from pyiceberg.table import Table, Transaction
    from pyiceberg.table.snapshots import Snapshot


_BATCH = 1000  # snapshots that one commit expires

_KINDS = ("data_files", "delete_files", "manifests", "manifest_lists", "statistics", "metadata_files")

_UNDER_WAY = 900.0
"""Seconds after which a metadata file that the table does not name is of no commit that may still succeed."""

_BY_WRITERS = next(iter(METADATA_STAYS))


@dataclass(frozen=True, slots=True)
class _Expired:
    """What became of one table or, on a dry run, would become of it; `kept`: for whom, in a sentence."""

    before: int
    expired: int = 0
    deleted: Mapping[str, int] = field(default_factory=dict)
    conflicts: int = 0
    kept: str = ""


class Expiry(Kind):
    """Old snapshots go, with the files that only they name."""

    name, step, at_once = "expiry", "expire_snapshots", 4
    about = "Expires snapshots that are too old, with the files that only they reach."

    def run(self, spec: AnyTable, connections: Connections, now: float, order: Order) -> WorkReport:
        """See `Kind.run`."""
        return expire(spec, connections, now, order)

    def why_due(self, known: Known, now: float) -> Reason | None:
        """See `Kind.why_due`."""
        pause, history, finding = known.spec.upkeep.expire_every, known.history, known.unworked(self)
        if not (finding and finding.result and history and known.is_over(self, pause, now)):
            return None
        why = f"{finding.result} of {history.snapshots} snapshots are old enough to go"
        text = f"{why}: {since(self.title, known.age(self, now), pause)}."
        return Reason(text, {"snapshots": history.snapshots, "expirable": finding.result})

    def needs_look(self, known: Known, now: float) -> bool:
        """Whether it is time to work out which snapshots can go."""
        facts, pause, finding = known.facts, known.spec.upkeep.expire_every, known.unworked(self)
        if facts.head is None or (facts.commits is not None and facts.commits < 2):
            return False
        asked = finding is not None and now - finding.at < pause.total_seconds()
        return known.is_over(self, pause, now) and not asked

    def look(self, view: View, known: Known, now: float) -> int:
        """How many snapshots are old enough to go, even if somebody still reads them."""
        return len(plan_expiry(view.table.metadata, known.spec.upkeep, now))


def expire(spec: AnyTable, connections: Connections, now: float, order: Order = AS_USUAL) -> WorkReport:
    """Expires the snapshots of a table, and of its dead letters, that nothing asks to be kept.

    No file is deleted where metadata of a snapshot that stays can't be read (RepairError).
    """
    handle = handle_of(spec, connections)
    done = {
        each: _Expiry(spec, connections, table, now).run(order.dry_run)
        if may_delete_files(table)
        else _Expired(len(table.snapshots()))
        for each, table in kept_tables(handle).items()
    }
    return _report(handle.name, done, order)


class _Expiry:
    """The expiry of one table."""

    def __init__(self, spec: AnyTable, connections: Connections, before: Table, now: float) -> None:
        self._upkeep, self._now = spec.upkeep, now
        self._handle, self._before = TableHandle.of(before), before
        self._readers = references_of(spec, connections, before, now)

    def run(self, dry_run: bool) -> _Expired:
        """Commits first, then deletes files: a run that dies in between leaves orphans, and nothing worse."""
        ids = self._ids(self._before)
        conflicts = 0 if dry_run else self._commit(ids)
        stay, files = self._files(set(ids) if dry_run else set()) if ids else (set(), {})
        files["metadata_files"] = self._old_metadata()
        if not dry_run:
            delete_files(self._before.io, (path for paths in files.values() for path in paths))
        deleted = {kind: len(paths) for kind, paths in files.items()}
        before, expired = len(self._before.snapshots()), len(set(ids) - stay)
        return _Expired(before, expired, deleted, conflicts, self._readers.text)

    def _ids(self, table: Table) -> tuple[int, ...]:
        return plan_expiry(table.metadata, self._upkeep, self._now, self._readers.snapshots)

    def _files(self, would_go: set[int]) -> tuple[set[int], dict[str, list[str]]]:
        """Ids of the snapshots that stay, and paths by kind of the files that only others named."""

        def read(after: Table) -> tuple[set[int], dict[str, list[str]]]:
            stay = {s.snapshot_id for s in after.snapshots()} - would_go
            return stay, _files_of(self._before, after, stay, self._readers.heads)

        gone = "Snapshots expired, but no file was deleted; those that only they named are orphans now."
        meaning = "Nothing was changed." if would_go else gone
        return read_present(self._handle, read, meaning)

    def _old_metadata(self) -> list[str]:
        """Metadata that the table no longer names, but for what readers are shown or a commit just wrote."""
        before = self._now - max(_UNDER_WAY, self._readers.longest)
        return old_metadata(self._handle, before, self._readers.locations)

    def _commit(self, ids: Sequence[int]) -> int:
        """Expires snapshots batch by batch; gives how often that was refused."""
        if self._before.properties.get(_BY_WRITERS) == "true":  # as earlier versions of Frazil made tables
            set_properties(self._handle, METADATA_STAYS)
        return sum(self._commit_some(set(ids[at : at + _BATCH])) for at in range(0, len(ids), _BATCH))

    def _commit_some(self, batch: set[int]) -> int:
        """Each try asks anew which of them may go."""

        def stage(table: Table) -> Transaction | None:
            ids = batch & set(self._ids(table))
            if not ids:
                return None
            tx = transaction(table)
            for ref in aged_refs(table.metadata, self._now):
                remove_ref(tx, ref)
            remove_snapshots(tx, sorted(ids))
            return tx

        todo = "Nothing: the upkeep sensor tries again; so does the command."
        return commit(self._handle, stage, work="snapshot expiry", todo=todo).conflicts


def _files_of(before: Table, after: Table, stay: set[int], shown: Sequence[Snapshot]) -> dict[str, list[str]]:
    gone = [s for s in before.snapshots() if s.snapshot_id not in stay]
    kept = [s for s in after.snapshots() if s.snapshot_id in stay]
    described = {path for path, of in statistics_of(after.metadata).items() if of in stay}
    once = {path for path, of in statistics_of(before.metadata).items() if of not in stay}
    return {**named_only_by(before.io, gone, kept, shown), "statistics": sorted(once - described)}


def _report(name: TableName, done: Mapping[TableName, _Expired], order: Order) -> WorkReport:
    before, expired = sum(d.before for d in done.values()), sum(d.expired for d in done.values())
    deleted = sum((Counter(d.deleted) for d in done.values()), Counter[str]())
    return WorkReport(
        table=str(name),
        kind="expiry",
        done=bool(expired or deleted.total()),
        text=_text(done, deleted, order.dry_run) + order.why,
        numbers={
            "snapshots_before": before,
            "snapshots_after": before - expired,
            **{f"{kind}_deleted": deleted[kind] for kind in _KINDS},
        },
        conflicts=sum(d.conflicts for d in done.values()),
        dry_run=order.dry_run,
    )


def _text(done: Mapping[TableName, _Expired], deleted: Mapping[str, int], dry_run: bool) -> str:
    """One sentence: how many snapshots of which table, and the files that go with them."""
    verb = "Would expire" if dry_run else "Expired"
    numbers = ", ".join(f"{d.expired:,} of {d.before:,} of {name}" for name, d in done.items())
    files = ", ".join(f"{n:,} {kind.replace('_', ' ')}" for kind, n in deleted.items() if n)
    kept = "".join(d.kept for d in done.values())
    return f"{verb} snapshots: {numbers}" + (f"; with them {files}." if files else ".") + kept
