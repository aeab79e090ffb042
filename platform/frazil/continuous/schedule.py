"""Which table is landed next, how much of it, and when one that failed is tried again. No server is asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Lock

from frazil.errors import FrazilError, PartDownError, RetryError
from frazil.landing.arrivals import Due
from frazil.landing.lane.parts import SMALL_BYTES, SMALL_RECORDS

Clock = Callable[[], float]

TURN_RECORDS, TURN_BYTES = 2_000_000, 256 * 2**20
"""What one turn lands at most: some seconds on two cores. Then others may go first."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One landing of a table."""

    due: Due
    records: int  # as many as it lands at most

    @property
    def is_large(self) -> bool:
        """Whether more waits than the turn takes."""
        return self.due.records > self.records

    @property
    def is_small(self) -> bool:
        """Whether it may share a Spark job with others."""
        return self.due.records <= SMALL_RECORDS and self.due.bytes <= SMALL_BYTES


def turn_of(due: Due) -> Turn:
    """As much as one turn and the spec's caps allow."""
    size = max(1.0, due.bytes / max(1, due.records))
    most = min(TURN_BYTES, due.spec.max_bytes) / size
    return Turn(due, int(max(1, min(TURN_RECORDS, due.spec.max_records, most))))


class Schedule:
    """Takes those tables first that have waited longest, measured by how often each is landed.

    Tables with a backlog of several turns leave one place to the others. A table is landed once at a time.

    Args:
        places: Landings at a time.
        small: How many small ones may be begun beside them, to share Spark jobs.
    """

    def __init__(self, places: int, clock: Clock = time.monotonic, *, small: int = 0) -> None:
        self._places, self._small = places, small
        self._due: list[Due] = []
        self._at_work: dict[str, Turn] = {}
        self.backoff = Backoff(clock)

    @property
    def at_work(self) -> int:
        """How many landings are under way."""
        return len(self._at_work)

    def look(self, due: Iterable[Due]) -> None:
        """Takes in what one look found; what an earlier one found is forgotten."""
        free = (d for d in due if d.table not in self._at_work)
        self._due = sorted(free, key=_urgency, reverse=True)

    def turns(self) -> list[Turn]:
        """The landings to start now."""
        started = []
        for due in self._due:
            turn = turn_of(due)
            if self._has_room(turn) and not self.backoff.rests(due.table):
                self._at_work[due.table] = turn
                started.append(turn)
        self._due = [due for due in self._due if due.table not in self._at_work]
        return started

    def works_on(self, table: str) -> bool:
        """Whether a landing of it is under way, or has ended and was not taken in."""
        return table in self._at_work

    def ended(self, table: str) -> None:
        """Makes room; the table is due again when a later look says so."""
        del self._at_work[table]

    def _has_room(self, turn: Turn) -> bool:
        at_work = self._at_work.values()
        if turn.is_small and sum(each.is_small for each in at_work) < self._small:
            return True
        others = [each for each in at_work if not (self._small and each.is_small)]
        large = sum(each.is_large for each in others)
        most = max(1, self._places - 1) if turn.is_large else self._places
        return len(others) < self._places and (not turn.is_large or large < most)


def _urgency(due: Due) -> float:
    return due.age / max(0.001, due.every)


class Backoff:
    """When what failed is tried again, and whether people need to hear of it.

    A system that does not answer lets all fail that need it: that is told once, and once that it works again.
    """

    def __init__(self, clock: Clock = time.monotonic, first: float = 2.0, longest: float = 300.0) -> None:
        self._clock = clock
        self._first, self._longest = first, longest
        self._failed: dict[str, tuple[int, float]] = {}  # how often in a row, and when to try again
        self._reported: dict[str, tuple[str, bool]] = {}  # what, and whether it is of a system
        self._outages: set[str] = set()  # those of a system that are not over
        self._lock = Lock()

    def rests(self, name: str) -> bool:
        """Whether it failed a moment ago; each failure in a row doubles the time."""
        return name in self._failed and self._clock() < self._failed[name][1]

    def failed(self, name: str, error: FrazilError) -> bool:
        """Notes a failure; whether it is news.

        The same one is told once. What may pass by itself is told when it comes a second time in a row.
        """
        times = self._failed.get(name, (0, 0.0))[0] + 1
        pause = min(self._longest, self._first * 2.0 ** min(times - 1, 30))
        self._failed[name] = times, self._clock() + pause
        is_outage = type(error) is PartDownError
        with self._lock:
            if self._reported.get(name, ("",))[0] == error.what or (
                isinstance(error, RetryError) and times == 1
            ):
                return False
            self._reported[name] = error.what, is_outage
            is_known = error.what in self._outages
            self._outages |= {error.what} if is_outage else set()
        return not is_known

    def is_reported(self, name: str) -> bool:
        """Whether people have heard that it fails."""
        return name in self._reported

    def worked(self, name: str) -> bool:
        """Notes that it went well; whether that is news, after a failure that was told."""
        self._failed.pop(name, None)
        with self._lock:
            what, is_outage = self._reported.pop(name, ("", False))
            is_over = is_outage and what not in self._outages  # another that needs it worked before
            self._outages.discard(what)
        return bool(what) and not is_over


class Pace:
    """Lets something happen each `least` seconds; what takes long comes less often, at least each `most`."""

    def __init__(self, least: float, most: float = float("inf"), clock: Clock = time.monotonic) -> None:
        self._least, self._most, self._clock = least, max(least, most), clock
        self._next = self._began = clock()

    @property
    def left(self) -> float:
        """Seconds until the next time."""
        return max(0.0, self._next - self._clock())

    def begin(self) -> None:
        """Notes that it begins."""
        self._began = self._clock()

    def end(self, share: float) -> None:
        """Notes that it ended, and what share of the time it may have."""
        took = self._clock() - self._began
        self._next = self._began + max(self._least, took, min(self._most, took / share))
