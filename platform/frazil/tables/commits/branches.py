"""Names of works, which tell what works there, and since when; and the branches that older releases made.

No work makes a branch any more: one of such a name is an older release's, at work or left in the middle.
"""

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
from frazil.tables.catalogs.pyiceberg import transaction
from frazil.tables.commits.commit import LONGEST, commit, remove_ref

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table, Transaction
    from pyiceberg.table.metadata import TableMetadata

LANDING, REDRIVE, REPLAY, DERIVING, REBUILDING = (
    "landing_", "redrive_", "replay_", "deriving_", "rebuilding_",
)  # fmt: skip
"""Prefixes of the names of works that bring rows."""

EXPIRING, FORGETTING = "expiring_", "forgetting_"
"""Prefixes of the names of upkeep's works."""

Args = TypeVarTuple("Args")
T = TypeVar("T")

_WRITES = 12  # times that a work is done where others commit to the table all the while

_log = logging.getLogger(__name__)

_NAME = re.compile(r"[a-z]+_\d{13}_[0-9a-f]{8}")


def new_branch(prefix: str) -> str:
    """A name of a work, which tells when it began (see `started_at`)."""
    return f"{prefix}{int(time.time() * 1000)}_{secrets.token_hex(4)}"


def started_at(branch: str) -> float:
    """When a work of a name began, in seconds since the epoch; 0 where its name does not tell."""
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


def tries() -> Iterator[stamina.Attempt]:
    """Attempts at work, each after a conflict with others' commits.

    No time ends them: of a write that takes longer than the 45 s that stamina gives there was no second one.
    """
    return iter(stamina.retry_context(on=CommitConflictError, attempts=_WRITES, timeout=None, wait_max=1.0))


def until_settled(work: Callable[[Unpack[Args]], T], *args: *Args) -> T:
    """Does work, again where others commit meanwhile."""
    for attempt in tries():
        with attempt:
            done = work(*args)
    return done
