"""Works on a table: each has a name, which tells what works there and since when."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from typing import TypeVar, TypeVarTuple, Unpack

import stamina

from frazil.errors import CommitConflictError

LANDING, REDRIVE, REPLAY, DERIVING, REBUILDING = (
    "landing_", "redrive_", "replay_", "deriving_", "rebuilding_",
)  # fmt: skip
"""Prefixes of the names of works that bring rows."""

EXPIRING, FORGETTING = "expiring_", "forgetting_"
"""Prefixes of the names of upkeep's works."""

Args = TypeVarTuple("Args")
T = TypeVar("T")

_WRITES = 12  # times that a work is done where others commit to the table all the while


def work_name(prefix: str) -> str:
    """A name of a work that begins now (see `started_at`)."""
    return f"{prefix}{int(time.time() * 1000)}_{secrets.token_hex(4)}"


def started_at(work: str) -> float:
    """When a work of a name began, in seconds since the epoch; 0 where its name does not tell."""
    try:
        return int(work.split("_")[1]) / 1000
    except (IndexError, ValueError, OverflowError):
        return 0.0


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
