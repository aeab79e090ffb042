"""Doing upkeep: one piece of work, with the table's memory of it, or many, with what readers are shown."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.errors import CommitConflictError
from frazil.publishing.pointer import is_foreign, metadata_shown
from frazil.publishing.target import Shown
from frazil.publishing.targets import targets_of
from frazil.spec.names import TableName, things
from frazil.spec.table import AnyTable
from frazil.tables.catalogs.catalog import catalog_errors, is_conflict
from frazil.tables.catalogs.handle import TableHandle, handle_of, writable_handle
from frazil.tables.commits.commit import set_properties
from frazil.tables.spark.session import spark_errors
from frazil.upkeep.kind import AS_USUAL, Kind, Order, Work
from frazil.upkeep.work import LastWork, WorkReport, only_upkeep_since, remembered

if TYPE_CHECKING:
    from pyiceberg.table import Table

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one piece of work."""

    work: Work
    report: WorkReport | None = None  # what was done; None where it failed
    shown: tuple[Shown, ...] = ()  # targets that were brought in step
    error: Exception | None = None  # why the work was not done or, where there is a report, not shown


def do_work(
    kind: Kind, spec: AnyTable, connections: Connections, now: float, order: Order = AS_USUAL
) -> WorkReport:
    """Does one kind of upkeep to a table, and lets the table remember it."""
    handle, settings = writable_handle(spec, connections), connections.settings
    started = time.perf_counter()
    with spark_errors(settings.of_upkeep), catalog_errors(settings):
        before = handle.load()
        try:
            report = kind.run(spec, connections, now, order)
        except Exception as e:
            if is_conflict(e):
                raise _conflict(kind, handle.name) from e
            raise
        report = replace(report, seconds=round(time.perf_counter() - started, 3))
        if not order.dry_run:
            _remember(report, before, now)
    about = {"table": report.table, "snapshot_id": report.snapshot_id, "seconds": report.seconds}
    _log.info("%s: %s", kind.name, report.text, extra=about)
    return report


def work_on(
    works: Sequence[Work], connections: Connections, now: float, order: Order = AS_USUAL
) -> Iterator[Outcome]:
    """Does several pieces of work, and shows readers what each changed; one that fails stops no other.

    The pieces are of one kind, and each has its own reason.
    """
    started = time.perf_counter()

    def do(work: Work) -> Outcome:
        at, own = now + time.perf_counter() - started, replace(order, reason=work.reason)
        clients = connections.of(work.spec)
        outcome = Outcome(work, do_work(work.kind, work.spec, clients, at, own))
        return outcome if order.dry_run else _shown(outcome, clients)

    pool = ThreadPoolExecutor(max((w.kind.at_once for w in works), default=1), thread_name_prefix="upkeep")
    try:
        running = {pool.submit(do, work): work for work in works}
        for done in as_completed(running):
            error = done.exception()
            if error is not None and not isinstance(error, Exception):
                raise error
            yield Outcome(running[done], error=error) if error else done.result()
    finally:
        pool.shutdown(cancel_futures=True)


def show(spec: AnyTable, connections: Connections, *, done: bool) -> Iterator[Shown]:
    """Brings the targets in step that are behind by upkeep only, and gives what they show then.

    A landing that waits for its checks, or was refused by them, is left to what publishes landings, and so is
    the upkeep behind it.

    Where upkeep has not `done` anything, a target behind another is asked only where that one moved.
    """
    moved = {things(spec, connections.settings).iceberg_path}
    for target in targets_of(spec, connections.settings):
        if (done or target.upstream in moved) and _is_behind(spec, target.read(connections), connections):
            moved.add(target.path)
            yield target.sync(connections)


def _is_behind(spec: AnyTable, shown: Shown | None, connections: Connections) -> bool:
    """Whether the metadata shown is an older one, and nothing but upkeep happened since."""
    if shown is None:
        return False
    with catalog_errors(connections.settings):
        table = handle_of(spec, connections).load()
        if shown.metadata_location == table.metadata_location or is_foreign(table, shown):
            return False
        seen = metadata_shown(table, shown.metadata_location)
        return seen is not None and only_upkeep_since(table.metadata, seen.current_snapshot_id)


def _shown(outcome: Outcome, connections: Connections) -> Outcome:
    done = outcome.report is not None and outcome.report.done
    try:
        for shown in show(outcome.work.spec, connections, done=done):
            outcome = replace(outcome, shown=(*outcome.shown, shown))
    except Exception as e:  # noqa: BLE001 - the work itself is done, and must be told
        return replace(outcome, error=e)
    return outcome


def _remember(report: WorkReport, before: Table, now: float) -> None:
    """Sets the table property; the head it names is one that the work has seen, never a later one."""
    handle, seen = TableHandle.of(before), before.metadata.current_snapshot_id
    after = handle.load().metadata
    quiet = only_upkeep_since(after, seen, (report.kind,))
    head = after.current_snapshot_id if quiet else seen
    last = LastWork(now + report.seconds, report.text, head, report.seconds)
    set_properties(handle, remembered(report.kind, last))


def _conflict(kind: Kind, name: TableName) -> CommitConflictError:
    return CommitConflictError(
        f"Others kept committing to table {name} during its {kind.title}.",
        meaning="The table is as the others left it.",
        todo="Nothing: the upkeep sensor tries again; so does the command.",
    )
