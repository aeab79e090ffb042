"""Snapshot expiry: old snapshots go, with the files that only they reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from frazil.catalogs.commits import TRIES, heads
from frazil.catalogs.iceberg import load_table
from frazil.errors import CommitConflictError
from frazil.naming import TableName, things
from frazil.spec import TableSpec
from frazil.upkeep.expiry_plan import plan_expiry
from frazil.upkeep.kept_tables import kept_tables, may_delete_files
from frazil.upkeep.procedures import FilesGoneError, call
from frazil.upkeep.work import WorkReport

if TYPE_CHECKING:
    from pyiceberg.table import Table

    from frazil.connections import Connections

__all__ = ["expire"]

_BATCH = 1000
"""Snapshots that one commit expires."""

_COUNTS = {
    "deleted_data_files_count": "data_files_deleted",
    "deleted_position_delete_files_count": "delete_files_deleted",
    "deleted_equality_delete_files_count": "delete_files_deleted",
    "deleted_manifest_files_count": "manifests_deleted",
    "deleted_manifest_lists_count": "manifest_lists_deleted",
    "deleted_statistics_files_count": "statistics_deleted",
}
_DELETED = tuple(dict.fromkeys(_COUNTS.values()))


@dataclass(frozen=True, slots=True)
class _Expired:
    """What became of one table; on a dry run, what would."""

    before: int
    expired: int
    deleted: Mapping[str, int] = field(default_factory=dict)
    conflicts: int = 0


def expire(
    spec: TableSpec, connections: Connections, now: float, *, dry_run: bool = False, reason: str = ""
) -> WorkReport:
    """Expires the snapshots of a table, and of its dead letters, that nothing asks to be kept.

    Args:
        spec: The table's; its `upkeep` says how long and how many snapshots are kept.
        connections: The outside systems.
        now: Seconds since the epoch.
        dry_run: Tell only how many would go; nothing is touched.
        reason: Why it is done now; told in the report.

    Raises:
        MissingError: There is no such table.
        CommitConflictError: Others kept committing in between.
        PartDownError: Spark, the catalog or the storage stopped answering.
    """
    work = _Expiry(spec, connections, now)
    tables = kept_tables(connections.catalog, work.name)
    done = {name: work.plan(table) if dry_run else work.run(name, table) for name, table in tables.items()}
    return _report(work.name, done, dry_run, reason)


class _Expiry:
    """The parts that the tables of one spec share."""

    def __init__(self, spec: TableSpec, connections: Connections, now: float) -> None:
        self.name = things(spec, connections.settings).table
        self._upkeep = spec.upkeep
        self._connections = connections
        self._now = now

    def plan(self, table: Table) -> _Expired:
        """What would be done."""
        return _Expired(len(table.metadata.snapshots), len(self._ids(table)))

    def run(self, name: TableName, table: Table) -> _Expired:
        """Does it, a batch of snapshots at a time."""
        ids, deleted, conflicts = self._ids(table), Counter[str](), 0
        for start in range(0, len(ids), _BATCH):
            counts, refused = self._expire(name, set(ids[start : start + _BATCH]))
            deleted.update(counts)
            conflicts += refused
        return _Expired(len(table.metadata.snapshots), len(ids), deleted, conflicts)

    def _ids(self, table: Table) -> tuple[int, ...]:
        return plan_expiry(table.metadata, self._upkeep, self._now) if may_delete_files(table) else ()

    def _expire(self, name: TableName, batch: set[int]) -> tuple[Mapping[str, int], int]:
        """One batch; also how often it was refused. Each try asks anew which of them may go."""
        for refused, table in enumerate(heads(self._connections.catalog, name)):
            ids = batch & set(self._ids(table))
            if not ids:
                return {}, refused
            try:
                return self._call(name, ids), refused
            except CommitConflictError:
                continue
            except FilesGoneError:
                # Orphan removal met files of what had just expired; it takes the others, too, one day.
                if ids & {s.snapshot_id for s in load_table(self._connections.catalog, name).snapshots()}:
                    raise
                return {}, refused
        raise CommitConflictError(
            f"The catalog refused {TRIES} times to expire snapshots of {name}.",
            meaning="Others commit to the table all the time; its snapshots are all there.",
            todo="Nothing: the upkeep sensor tries again; so does the command.",
        )

    def _call(self, name: TableName, ids: set[int]) -> Mapping[str, int]:
        rows = call(
            self._connections.spark,
            name,
            "expire_snapshots",
            snapshot_ids=f"array({', '.join(f'{i}L' for i in sorted(ids))})",
            # These two switch off Iceberg's own rules: the ids are the whole plan.
            older_than="TIMESTAMP '1970-01-02 00:00:00'",
            retain_last="2147483647",
            stream_results="true",
        )
        counts = Counter[str]()
        for theirs, ours in _COUNTS.items():
            counts[ours] += rows[0][theirs] or 0
        return counts


def _report(name: TableName, done: Mapping[TableName, _Expired], dry_run: bool, reason: str) -> WorkReport:
    before, expired = (sum(getattr(each, key) for each in done.values()) for key in ("before", "expired"))
    deleted = sum((Counter(each.deleted) for each in done.values()), Counter())
    return WorkReport(
        table=str(name),
        kind="expiry",
        done=expired > 0,
        text=_text(done, deleted, dry_run) + (f" Why: {reason}" if reason else ""),
        numbers={
            "snapshots_before": before,
            "snapshots_after": before - expired,
            **({} if dry_run else {key: deleted[key] for key in _DELETED}),
        },
        conflicts=sum(each.conflicts for each in done.values()),
        dry_run=dry_run,
    )


def _text(done: Mapping[TableName, _Expired], deleted: Mapping[str, int], dry_run: bool) -> str:
    """One sentence: how many snapshots of which table, and the files that went with them."""
    said = ", ".join(f"{each.expired:,} of {each.before:,} of {name}" for name, each in done.items())
    if dry_run or not any(deleted.values()):
        return f"{'Would expire' if dry_run else 'Expired'} snapshots: {said}."
    files = ", ".join(
        f"{n:,} {key.removesuffix('_deleted').replace('_', ' ')}" for key, n in deleted.items() if n
    )
    return f"Expired snapshots: {said}; deleted with them: {files}."
