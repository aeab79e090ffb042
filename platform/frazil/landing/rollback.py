"""Rollback: an earlier snapshot becomes the head of `main`, and its position the table's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import dropwhile, islice
from typing import TYPE_CHECKING, Any

from frazil.connections import Connections
from frazil.errors import CommitConflictError, MissingError, OffsetsLostError, RepairError
from frazil.kafka.facts import TopicFacts, topic_facts
from frazil.landing.ledger import Ledger, Span, ledgers, read_ledger
from frazil.landing.refusals import SUSPENDED_BY
from frazil.spec.names import TableName, things
from frazil.spec.topic import TableSpec
from frazil.tables.catalog import catalog_errors
from frazil.tables.heads import TRIES, heads, through
from frazil.tables.ledger import Entry, Told, rewind
from frazil.tables.snapshots import ancestors, summary_of
from frazil.tables.stage import SUSPENDED

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot


__all__ = ["RollbackReport", "moment_of", "move_main", "roll_back", "row_count", "target_of"]

_SHOWN = 5
"""Snapshots that an error names."""


@dataclass(frozen=True, slots=True)
class RollbackReport:
    """What one rollback did.

    Args:
        table: Its identifier.
        snapshot_id: The head of `main` now.
        from_snapshot_id: The head before.
        position: Per partition the offset at which the next landing begins; empty: at the first ones.
        offsets_again: Offsets that the next landing reads once more.
        records_lost: Those of them that the topic no longer holds.
        rows: Rows of the table now.
        rows_before: Rows before.
        done: Whether the head moved.
        text: The same in a few sentences, and what to do next.
    """

    table: str
    snapshot_id: int
    from_snapshot_id: int
    position: Mapping[int, int]
    offsets_again: int
    records_lost: int
    rows: int
    rows_before: int
    done: bool
    text: str


def roll_back(
    spec: TableSpec, connections: Connections, to: int | datetime, *, accept_loss: bool = False
) -> RollbackReport:
    """Makes an ancestor of `main` its head, and that snapshot's position the table's, in one commit.

    The next landing continues from there: what came later is read from the topic once more.

    Args:
        spec: The table.
        connections: The environment.
        to: A snapshot's id, or a moment: the newest snapshot that is not younger is meant.
        accept_loss: Roll back even if the topic no longer holds what came later.

    Raises:
        MissingError: There is no such table, or no such snapshot among the ancestors of `main`.
        OffsetsLostError: The topic no longer holds records that would leave the table.
        RepairError: Nothing tells the position of that snapshot any more.
        CommitConflictError: Others kept committing in between.
    """
    name = things(spec, connections.settings).table
    facts = topic_facts(connections.admin, [spec.topic]).get(spec.topic)
    with catalog_errors(connections.settings):
        for table in heads(connections.catalog, name):
            target = target_of(name, table, to)
            told = _told_at(name, table, target)
            report = _report(spec, name, table, target, told.entry, facts)
            if report.records_lost and not accept_loss:
                raise _lossy(name, report)
            if not report.done or move_main(table, target, Ledger, told):
                return report
    raise CommitConflictError(
        f"The catalog refused a rollback of {name} {TRIES} times.",
        meaning="Others commit to the table all the time; the table is as they left it.",
        todo="Roll back again; stop landings of the table first if it lasts.",
    )


def target_of(name: TableName, table: Table, to: int | datetime) -> Snapshot:
    """The ancestor of `main` that is meant: by its id, or the newest one that is not younger.

    Raises:
        MissingError: There is none.
    """
    for snapshot in ancestors(table.metadata):
        if snapshot.snapshot_id == to if isinstance(to, int) else snapshot.timestamp_ms <= _millis(to):
            return snapshot
    raise _no_target(name, table, to)


def _millis(moment: datetime) -> float:
    return moment.timestamp() * 1000


def _told_at(name: TableName, table: Table, target: Snapshot) -> Told[Ledger]:
    """What the table says of its position once the snapshot is its head."""
    line = dropwhile(lambda s: s.snapshot_id != target.snapshot_id, ancestors(table.metadata))
    if told := Ledger.told(line):
        return told
    if read_ledger(table.metadata) is None:
        return Told(None, 0)
    raise RepairError(
        f"The position of snapshot {target.snapshot_id} of {name} is no longer known.",
        where=f"made {moment_of(target)}; the snapshot of the landing before it is expired",
        meaning="A landing behind it could not tell which records the table holds. Nothing was changed.",
        todo=f"Roll back to one of these: {_shown(s for s, _ in ledgers(table.metadata))}.",
    )


def _report(
    spec: TableSpec,
    name: TableName,
    table: Table,
    target: Snapshot,
    ledger: Ledger | None,
    topic: TopicFacts | None,
) -> RollbackReport:
    head = next(ancestors(table.metadata))
    now, then = read_ledger(table.metadata), ledger.position if ledger else {}
    again = {p: (then.get(p, now.start.get(p, at)), at) for p, at in now.position.items()} if now else {}
    offsets, lost = sum(at - start for start, at in again.values()), _lost(again, now, topic)
    done = head.snapshot_id != target.snapshot_id
    text = f"{name} is at snapshot {target.snapshot_id} already, made {moment_of(target)}."
    if done:
        text = (
            f"{name} is again as it was at snapshot {target.snapshot_id}, made {moment_of(target)}; "
            f"its columns stay as they are. The next landing reads {offsets} offsets once more."
        )
        text += f" {lost} of them are gone from the topic: it will refuse to." if lost else ""
        text += f" Glue and Snowflake show it after `frazil sync {name}`." if spec.publish else ""
    return RollbackReport(
        str(name),
        target.snapshot_id,
        head.snapshot_id,
        then,
        offsets,
        lost,
        row_count(target),
        row_count(head),
        done,
        text,
    )


def _lost(again: Mapping[int, Span], now: Ledger | None, topic: TopicFacts | None) -> int:
    """How many of the offsets no landing can read any more."""
    if topic is None or now is None or topic.topic_id != now.topic_id:
        return sum(to - start for start, to in again.values())
    return sum(max(0, min(topic.first.get(p, to), to) - start) for p, (start, to) in again.items())


def move_main(table: Table, target: Snapshot, kind: type[Entry], told: Told[Any]) -> bool:
    """Makes a snapshot the head of `main`; one try, False where the catalog refused.

    Args:
        table: As loaded: the commit is bound to its head.
        target: The snapshot.
        kind: Of the table's ledgers.
        told: What the snapshot, or one before it, says.
    """
    from pyiceberg.table.update import AssertRefSnapshotId, SetSnapshotRefUpdate

    main = table.metadata.refs["main"]
    rules = main.model_dump(include={"max_ref_age_ms", "max_snapshot_age_ms", "min_snapshots_to_keep"})
    tx = table.transaction()
    if gone := [p for p in (SUSPENDED, SUSPENDED_BY) if p in table.properties]:
        tx.remove_properties(*gone)
    rewind(tx, kind, told)
    tx._apply(
        (SetSnapshotRefUpdate(ref_name="main", type="branch", snapshot_id=target.snapshot_id, **rules),),
        (AssertRefSnapshotId(ref="main", snapshot_id=main.snapshot_id),),
    )
    return through(tx.commit_transaction)


def row_count(snapshot: Snapshot) -> int:
    """Rows of the table at a snapshot."""
    return int(summary_of(snapshot).get("total-records", 0))


def _no_target(name: TableName, table: Table, to: int | datetime) -> MissingError:
    line = list(ancestors(table.metadata))
    kept = f"{len(line)} snapshots of main are kept: {_shown(line)}"
    if isinstance(to, datetime):
        what = f"No snapshot of {name} is as old as {to.isoformat(sep=' ')}."
    elif table.metadata.snapshot_by_id(to):
        what = (
            f"Snapshot {to} of {name} is no ancestor of main: another branch made it, or a rollback left it."
        )
    else:
        what = f"{name} has no snapshot {to}; it may have expired."
    return MissingError(
        what,
        where=kept,
        meaning="Nothing was changed.",
        todo=f"Name one of these, or a later moment; `frazil describe {name}` lists landings.",
    )


def _lossy(name: TableName, report: RollbackReport) -> OffsetsLostError:
    return OffsetsLostError(
        f"The topic no longer holds {report.records_lost} offsets that would leave {name}.",
        where=f"snapshot {report.snapshot_id} ends at {dict(report.position)}",
        meaning="After the rollback no landing could go on behind it. Nothing was changed.",
        todo="Read the snapshot by time travel, or copy it to another table; --accept-loss rolls back.",
    )


def _shown(snapshots: Iterable[Snapshot]) -> str:
    few = list(islice(snapshots, _SHOWN + 1))
    told = ", ".join(f"{s.snapshot_id} ({moment_of(s)})" for s in few[:_SHOWN])
    return f"{told}, ..." if len(few) > _SHOWN else told


def moment_of(snapshot: Snapshot) -> str:
    """When it was made, for people."""
    made = datetime.fromtimestamp(snapshot.timestamp_ms / 1000, UTC)
    return f"{made.isoformat(sep=' ', timespec='milliseconds').removesuffix('+00:00')} UTC"
