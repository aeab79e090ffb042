"""The one loop over heads: every change of a table is sent from here, and what became of it is looked up.

A commit is bound to the head that it was staged on. An answer may be lost, and a proxy may send a request
twice: so a refusal counts only once the table itself shows that the commit is not there. Nothing below this
loop tries again (PyIceberg would append without looking at the position), and nothing deletes the files of
a commit: that is for upkeep's orphans, days later.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from frazil.errors import ClockError, CommitConflictError, CommitUnknownError
from frazil.spec.names import TableName
from frazil.tables.catalogs.catalog import is_conflict, is_lost
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.catalogs.pyiceberg import transaction
from frazil.tables.catalogs.requests import REQUESTED, Requests
from frazil.tables.commits.staging import assert_ref, is_staged
from frazil.tables.metadata.snapshots import is_foreign

if TYPE_CHECKING:
    from pyiceberg.table import Table, Transaction
    from pyiceberg.table.metadata import TableMetadata

TRIES = 30
_LONGEST_WAIT = 1.0
_PATIENCE = 180.0  # seconds that the outcome of a commit is looked for while the catalog does not answer

LONGEST = 6 * 3600.0
"""Seconds after which work is taken for dead. What was staged before is not sent: a machine slept meanwhile,
and orphan removal may have taken the new manifests, which no snapshot names yet."""

_SKEW = 60_000
"""Milliseconds that clocks may disagree: Java's metadata reader refuses a log that goes back by more
(TableMetadata: ONE_MINUTE)."""


@dataclass(frozen=True, slots=True)
class Committed:
    """A table after a commit."""

    table: Table
    # The snapshot that the commit made; None where it made none, or nothing was to be done.
    snapshot_id: int | None
    conflicts: int = 0  # how often it was tried again on a newer head


def commit(
    handle: TableHandle,
    stage: Callable[[Table], Transaction | None],
    *,
    work: str,
    todo: str = "Try again.",
) -> Committed:
    """Commits what `stage` makes of the table's present head, until it is through or is not wanted any more.

    Args:
        stage: Stages updates to the table that it is given, and does not commit them. It is asked again
            for each new head. None: nothing is left to do. What it raises ends the work.
        work: What is committed, for people: `landing`, `schema change`.
        todo: What to do where the catalog refuses time and again.

    Raises:
        CommitConflictError: The catalog refused time and again, because others committed.
        CommitUnknownError: Nobody answers, and the commit may be there or not.
        ClockError: This machine's clock is behind the table's head.
    """
    sending = _Sending(handle, work)
    for conflicts in range(TRIES):
        table = sending.look(conflicts)
        if done := sending.done(table):
            return Committed(table, done, conflicts)
        began = time.time()
        tx = stage(table)
        if tx is None or not is_staged(tx):
            return Committed(table, None, conflicts)
        sending.reconsider()
        if time.time() - began < LONGEST and (after := sending.send(table, tx)):
            return Committed(after, sending.done(after), conflicts)
    raise sending.refused(todo)


class _Sending:
    """The tries of one commit."""

    def __init__(self, handle: TableHandle, work: str) -> None:
        self._handle, self._work = handle, work
        self._made: list[int] = []
        self._failure: Exception | None = None
        self._since = time.monotonic()
        self._requests = Requests()

    def look(self, conflicts: int) -> Table:
        """The table as it is now; waits a little where others commit, and longer where nobody answers."""
        if conflicts == 0:
            return self._handle.load()
        for attempt in range(conflicts, TRIES + conflicts):
            time.sleep(random.uniform(0, min(_LONGEST_WAIT, 0.02 * 2**attempt)))
            try:
                return self._handle.load_once()
            except Exception as e:
                if not is_lost(e):
                    raise
                lost = e
            if time.monotonic() - self._since > _PATIENCE:
                break
        raise self._unknown() from lost

    def done(self, table: Table) -> int | None:
        """The snapshot that one of the tries made, if it is there: an answer was lost, or given twice."""
        return next((id_ for id_ in self._made if table.metadata.snapshot_by_id(id_)), None)

    def reconsider(self) -> None:
        """Raises what refused the last try for a reason that no newer head removes."""
        failure = self._failure
        if failure and not is_conflict(failure) and not is_lost(failure):
            raise failure

    def send(self, table: Table, tx: Transaction) -> Table | None:
        """Sends the commit once; None where it was refused, or where its answer was lost."""
        from pyiceberg.table.update import AddSnapshotUpdate

        _keep_time(self._handle.name, table.metadata, tx)
        self._say_requests(table, tx)
        self._made += [u.snapshot.snapshot_id for u in tx._updates if isinstance(u, AddSnapshotUpdate)]
        try:
            return _sent(table, tx)
        except Exception as e:  # noqa: BLE001 - the next look at the table tells what it means
            self._failure = e
            return None

    def _say_requests(self, table: Table, tx: Transaction) -> None:
        """Lets the newest snapshot say what the store was asked for since this process' last one.

        One that takes over what another engine did stays as it is: a word of Frazil's would make it its own.
        """
        from pyiceberg.table.update import AddSnapshotUpdate

        added = [u.snapshot for u in tx._updates if isinstance(u, AddSnapshotUpdate)]
        if not added or (summary := added[-1].summary) is None or is_foreign(added[-1]):
            return
        self._requests += REQUESTED.take(table.location())
        for name, value in self._requests.summary.items():
            summary[name] = value

    def refused(self, todo: str) -> CommitConflictError | CommitUnknownError:
        """What to raise after the last try."""
        table = self.look(1)
        if self.done(table) or (self._failure and is_lost(self._failure)):
            return self._unknown()
        return CommitConflictError(
            f"The catalog refused a {self._work} of {self._handle} {TRIES} times.",
            where=f"{type(self._failure).__name__}: {self._failure}"[:300],
            meaning="Others commit to the table all the time; the table is as they left it.",
            todo=todo,
        )

    def _unknown(self) -> CommitUnknownError:
        return CommitUnknownError(
            f"It is not known what became of a {self._work} of {self._handle}: no answer says it.",
            where=f"{type(self._failure).__name__}: {self._failure}"[:300],
            meaning="The table holds either all of it or nothing of it. No file was deleted.",
            todo="Try again once the catalog answers: it goes on from what the table says then.",
        )


def _sent(table: Table, tx: Transaction) -> Table:
    """Past `Transaction.commit_transaction`, which deletes manifests before the outcome is known."""
    from pyiceberg.table import Table as Loaded
    from pyiceberg.table.update import AssertTableUUID

    requirements = (*tx._requirements, AssertTableUUID(uuid=table.metadata.table_uuid))
    answer = table.catalog.commit_table(table, requirements, tx._updates)
    return Loaded(
        table.name(), answer.metadata, answer.metadata_location, table.io, table.catalog, table.config
    )


def _keep_time(name: TableName, metadata: TableMetadata, tx: Transaction) -> None:
    """No snapshot bears a time before the head's."""
    from pyiceberg.table.update import AddSnapshotUpdate, TableUpdate

    now, newest = int(time.time() * 1000), metadata.last_updated_ms
    if newest - now > _SKEW:
        raise _behind(name, now, newest)

    def timed(update: TableUpdate) -> TableUpdate:
        if not isinstance(update, AddSnapshotUpdate):
            return update
        at = {"timestamp_ms": max(now, newest)}
        return update.model_copy(update={"snapshot": update.snapshot.model_copy(update=at)})

    tx._updates = tuple(timed(update) for update in tx._updates)


def _behind(name: TableName, now: int, newest: int) -> ClockError:
    ours, theirs = (datetime.fromtimestamp(ms / 1000, UTC).isoformat(" ", "seconds") for ms in (now, newest))
    return ClockError(
        f"This machine's clock is {(newest - now) // 1000} seconds behind the newest commit of {name}.",
        where=f"the clock here says {ours}, the commit {theirs}",
        meaning="Nothing was committed: Java, Rust and Go refuse a table whose log goes back by a minute.",
        todo="Set the clocks of all machines that write to the table by NTP; then try again.",
    )


def set_properties(
    handle: TableHandle,
    properties: dict[str, str],
    only: Callable[[Table], bool] | None = None,
) -> None:
    """Sets table properties; those that are `only` for some heads, as long as the table has such a head."""

    def stage(table: Table) -> Transaction | None:
        if (only and not only(table)) or not properties.items() - table.properties.items():
            return None
        tx = transaction(table).set_properties(properties)
        if only:
            assert_ref(tx, "main", table.metadata.current_snapshot_id)
        return tx

    commit(handle, stage, work="change of properties")


def remove_properties(handle: TableHandle, keys: Iterable[str]) -> None:
    """Removes those of the table properties that are there."""
    gone = tuple(keys)

    def stage(table: Table) -> Transaction | None:
        there = [key for key in gone if key in table.properties]
        return transaction(table).remove_properties(*there) if there else None

    commit(handle, stage, work="change of properties")
