"""Acceptance: rows that another engine deleted, lawfully, are counted in, and no longer as lost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import takewhile
from typing import TYPE_CHECKING, ClassVar

from frazil.connections import Connections
from frazil.errors import ConfigureError, OvertakenError
from frazil.landing.position.ledger import EMPTY, Ledger, ledger_of, ledgers, read_ledger
from frazil.landing.tableflow.takeover import TAKEOVER
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import name_of, writable_handle
from frazil.tables.commits.stage import Staged, StagedFiles, publish
from frazil.tables.commits.works import work_name
from frazil.tables.metadata.snapshots import ancestors, is_foreign, made_at, number, summary_of
from frazil.tables.spark.session import live_rows

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

_ENGINES = ("engine-name", "engine-version", "app-id", "trino_query_id", "trino_user")
"""What Spark, Flink and Trino (which Athena is) say of themselves in a summary."""


@dataclass(frozen=True, slots=True)
class AcceptReport:
    """What was accepted; `rows` are those that the foreign commit took away."""

    table: str
    accepted_snapshot: int
    rows: int
    because: str
    snapshot_id: int | None


def foreign_commits(metadata: TableMetadata) -> list[Snapshot]:
    """Commits on `main` by which others changed rows, newest first, without those that were accepted."""
    known = {ledger.accepted_snapshot for _, ledger in ledgers(metadata)}
    return [
        snapshot
        for snapshot in takewhile(lambda s: not _is_takeover(s), ancestors(metadata))
        if snapshot.snapshot_id not in known and is_foreign(snapshot)
    ]


def commit_text(snapshot: Snapshot) -> str:
    """A foreign commit in words: its id, time, operation, rows, and who says to have made it."""
    summary, at = summary_of(snapshot), datetime.fromtimestamp(made_at(snapshot), UTC)
    operation = snapshot.summary.operation.value if snapshot.summary else "unknown operation"
    rows = f"{number(summary, 'deleted-records'):,} rows out, {number(summary, 'added-records'):,} in"
    if by_files := number(summary, "added-position-deletes") + number(summary, "added-equality-deletes"):
        rows += f", {by_files:,} deleted by delete files"
    engine = (
        " ".join(summary[name] for name in _ENGINES if summary.get(name)) or "an engine that does not say"
    )
    return f"{snapshot.snapshot_id} of {at:%F %T} UTC ({operation} by {engine}; {rows})"


def ways_on(name: TableName, metadata: TableMetadata, foreign: Snapshot) -> str:
    """What may be done about a foreign commit; a rollback, where the snapshot before it is kept."""
    counted = f"`frazil accept {name} --snapshot {foreign.snapshot_id} --because TEXT` counts the loss in"
    return "; ".join([counted, *_turned_back(name, metadata, foreign)])


def _turned_back(name: TableName, metadata: TableMetadata, foreign: Snapshot) -> list[str]:
    before = metadata.snapshot_by_id(foreign.parent_snapshot_id or 0)
    way = f"`frazil rollback {name} --to {foreign.parent_snapshot_id}` takes the table back to before it"
    return [f"{way}, unless the topic has lost what was landed since"] if before else []


def accept(
    spec: TableSpec,
    connections: Connections,
    snapshot_id: int,
    because: str,
    *,
    by: str = "",
    run_id: str = "",
) -> AcceptReport:
    """Counts the rows that a foreign commit removed, and notes why and who accepted it.

    Raises:
        ConfigureError: The commit is none of those, or it brought rows.
        OvertakenError: Somebody else accepted it first.
    """
    handle = writable_handle(spec, connections)
    with catalog_errors(connections.settings):
        table = handle.load()
        snapshot = _find(table, snapshot_id)
        rows = _taken(table, snapshot, connections)
        entry = replace(
            EMPTY, accepted=rows, accepted_snapshot=snapshot_id, because=because, accepted_by=by,
            landing=work_name("acceptance"), run_id=run_id, version=version("frazil"),
        )  # fmt: skip
        published = publish(handle, _Acceptance(StagedFiles(), entry, snapshot.timestamp_ms))
    return AcceptReport(str(handle), snapshot_id, rows, because, published.snapshot_id)


@dataclass(frozen=True)
class _Acceptance(Staged):
    """No rows: only what the ledger says of those that are gone, in milliseconds since the epoch, when."""

    work: ClassVar[str] = "acceptance"
    resumes: ClassVar[bool] = False

    entry: Ledger
    gone_at: int

    def next_entry(self, table: Table) -> Ledger:
        """See `Staged.next_entry`."""
        name = name_of(table)
        before = read_ledger(table.metadata)
        wanted = [s.snapshot_id for s in foreign_commits(table.metadata)]
        if before is None or self.entry.accepted_snapshot not in wanted:
            raise OvertakenError(
                f"Snapshot {self.entry.accepted_snapshot} of {name} was accepted, or rolled back, by others.",
                meaning="Its rows are counted once; nothing was changed now.",
                todo=f"Nothing. `frazil check {name}` says how the table stands.",
            )
        # A dead letter that was redriven may be among them: no redrive brings it back.
        past = self.gone_at if before.total_redriven else None
        return replace(self.entry, expired_before=past).beside(before)


def _is_takeover(snapshot: Snapshot) -> bool:
    """Whether all that came before is Tableflow's, and was counted."""
    ledger = ledger_of(snapshot)
    return ledger is not None and ledger.landing.startswith(TAKEOVER)


def _find(table: Table, snapshot_id: int) -> Snapshot:
    name = name_of(table)
    foreign = foreign_commits(table.metadata)
    for snapshot in foreign:
        if snapshot.snapshot_id == snapshot_id:
            return snapshot
    there = ", ".join(str(s.snapshot_id) for s in foreign)
    raise ConfigureError(
        f"Snapshot {snapshot_id} is no commit of others on {name} that waits to be accepted.",
        where=f"those that do: {there}" if there else "none does",
        meaning="Nothing was changed.",
        todo=f"`frazil check {name}` names the commits that its rows differ by.",
    )


def _taken(table: Table, snapshot: Snapshot, connections: Connections) -> int:
    """How many rows the commit took away."""
    name = name_of(table)
    before = table.metadata.snapshot_by_id(snapshot.parent_snapshot_id or 0)
    summary = summary_of(snapshot)
    if before:
        taken = live_rows(connections, name, before) - live_rows(connections, name, snapshot)
    elif "total-records" in summary and not number(summary, "total-delete-files"):
        taken = number(summary, "deleted-records") - number(summary, "added-records")
    else:
        raise _unknown(table, snapshot, "the snapshot before it has expired")
    if taken <= 0:
        raise _unknown(table, snapshot, f"it brought {-taken} rows, or changed some")
    return taken


def _unknown(table: Table, snapshot: Snapshot, why: str) -> ConfigureError:
    name = name_of(table)
    anew = ["Land the topic into a table of another name"]
    return ConfigureError(
        f"Snapshot {snapshot.snapshot_id} of {name} can't be accepted: {why}.",
        meaning="Only rows that are gone can be counted in. Nothing was changed.",
        todo=f"{(_turned_back(name, table.metadata, snapshot) or anew)[0]}.",
    )
