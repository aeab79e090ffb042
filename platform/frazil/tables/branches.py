"""Branches of work under way: a branch's name tells what works there, and since when."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple, Unpack

import stamina

from frazil.errors import CommitConflictError
from frazil.spec.names import TableName
from frazil.tables.commit import LONGEST, assert_ref, commit, remove_ref
from frazil.tables.pyiceberg import transaction

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table, Transaction
    from pyiceberg.table.metadata import TableMetadata

LANDING, REDRIVE, REPLAY, DERIVING, REBUILDING = (
    "landing_", "redrive_", "replay_", "deriving_", "rebuilding_",
)  # fmt: skip
"""Prefixes of branches that bring rows."""

EXPIRING, FORGETTING, COMPACTING = "expiring_", "forgetting_", "compaction_"
"""Prefixes of branches of upkeep."""

Args = TypeVarTuple("Args")
T = TypeVar("T")

_WRITES = 12  # times that a branch is written where others commit to the table all the while

_log = logging.getLogger(__name__)

_NAME = re.compile(r"[a-z]+_\d{13}_[0-9a-f]{8}")


def new_branch(prefix: str) -> str:
    """A name that tells when the work on the branch began (see `started_at`)."""
    return f"{prefix}{int(time.time() * 1000)}_{secrets.token_hex(4)}"


def started_at(branch: str) -> float:
    """When the work on a branch began, in seconds since the epoch; 0 where its name does not tell."""
    try:
        return int(branch.split("_")[1]) / 1000
    except (IndexError, ValueError, OverflowError):
        return 0.0


def at_work(metadata: TableMetadata) -> dict[str, float]:
    """The branches of a table's works, with when each began, in seconds since the epoch.

    One that died counts as long as nobody dropped its branch.
    """
    return {ref: started_at(ref) for ref in metadata.refs if _NAME.fullmatch(ref)}


def outlived(metadata: TableMetadata, now: float) -> dict[str, float]:
    """Branches of works that are older than any work may take, with their age in seconds."""
    ages = {branch: now - began for branch, began in at_work(metadata).items()}
    return {branch: age for branch, age in ages.items() if age > LONGEST}


def drop_outlived(catalog: Catalog, name: TableName, table: Table, now: float | None = None) -> None:
    """Drops the branches of dead works that nobody published past; their files go with snapshot expiry."""
    for branch in outlived(table.metadata, time.time() if now is None else now):
        drop_branch(catalog, name, branch)


def drop_branch(catalog: Catalog, name: TableName, branch: str) -> None:
    """Drops a branch, if it is there."""

    def stage(table: Table) -> Transaction | None:
        if branch not in table.metadata.refs:
            return None
        tx = transaction(table)
        remove_ref(tx, branch)
        return tx

    commit(catalog, name, stage, work="removal of a branch")


def leave_branch(catalog: Catalog, name: TableName, branch: str) -> None:
    """Drops a branch on the way out; a failure is only logged, for the error before it is the one to tell."""
    try:
        drop_branch(catalog, name, branch)
    except Exception:  # noqa: BLE001 - see above
        _log.warning("branch %s of %s could not be dropped", branch, name, exc_info=True)


def branch_lost(name: TableName, branch: str) -> CommitConflictError:
    """What to raise where a branch was dropped before its work was published."""
    return CommitConflictError(
        f"The branch of unpublished work on {name} was removed.",
        where=f"branch {branch}",
        meaning="The work was not published: expiry may have deleted its files.",
        todo="Try again. Branches are removed after six hours, by the clock of the machine that cleans up.",
    )


def publish_branch(tx: Transaction, name: TableName, branch: str, tip: int) -> None:
    """Has a commit remove the branch that it publishes, and fail unless it is still at its audited `tip`."""
    ref = tx.table_metadata.refs.get(branch)
    if ref is None:
        raise branch_lost(name, branch)
    if ref.snapshot_id != tip:
        raise CommitConflictError(
            f"Somebody wrote to a branch of {name} after its audit.",
            where=f"branch {branch}, audited at snapshot {tip}, now at {ref.snapshot_id}",
            meaning="The branch was not published.",
            todo="Try again.",
        )
    assert_ref(tx, branch, tip)
    remove_ref(tx, branch)


def tries() -> Iterator[stamina.Attempt]:
    """Attempts at work on a branch, each after a conflict with others' commits.

    No time ends them: of a write that takes longer than the 45 s that stamina gives there was no second one.
    """
    return iter(stamina.retry_context(on=CommitConflictError, attempts=_WRITES, timeout=None, wait_max=1.0))


def until_settled(work: Callable[[Unpack[Args]], T], *args: *Args) -> T:
    """Does work on a branch, again where others commit meanwhile."""
    for attempt in tries():
        with attempt:
            done = work(*args)
    return done
