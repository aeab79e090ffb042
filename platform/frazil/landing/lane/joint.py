"""Spark jobs of the lane. Small landings share them: most of what theirs would cost is there once then."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Condition
from typing import TYPE_CHECKING

from frazil.landing.lane.parts import Part, RunPart, run_together
from frazil.landing.source import Log, Logs, Place

if TYPE_CHECKING:
    import pyarrow as pa


MOST = 64
"""Landings of one job: by then one costs a twentieth of a job of its own. If one fails, all go alone."""

JOB_BYTES = 256 * 2**20
"""Of values in one job, some seconds of work: none of its landings is published before all have ended."""

HELD_BYTES = 64 * 2**20
"""Of these, what may wait in the memory of tasks until all records are read: one task may have all of it."""

PATIENCE = 1.0
"""Seconds for which a landing waits for others that are under way: as long as a small one takes by itself."""


_log = logging.getLogger(__name__)


def alone(part: Part) -> pa.Table:
    """Runs a job for one part."""
    return run_together([part], part.reading.logs)[0]


@dataclass(eq=False)
class _Seat:
    """A part that waits for a job; served, it has what was `returned`, or the `error` of a job of its own."""

    part: Part
    since: float
    served: bool = False
    returned: pa.Table | None = None
    error: Exception | None = None


class JointJobs:
    """Spark jobs that landings share. Each landing runs in a thread of its own, and waits in it for its job.

    A job departs when it is full, when no landing is under way that might still come, or when one has waited
    for a second; one at a time, so that others gather meanwhile. Where it fails, each landing goes alone,
    and tells the error in its own words. One that fails then as well goes alone until it works again.

    Args:
        at_once: How many landings work at a time, those that wait for a job not counted.
    """

    def __init__(self, at_once: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = Condition()
        self._free = at_once
        self._returning = 0  # landings that were served and want a place: they go before new ones
        self._coming: set[object] = set()  # landings that may still ask for a job
        self._waiting: list[_Seat] = []
        self._is_running = self._is_stopped = False
        self._failing: set[str] = set()
        self._logs: dict[Place, Log] = {}

    def landing(self) -> AbstractContextManager[RunPart]:
        """A landing, which is under way from now on. It is entered in its thread; gives what runs its part.

        Raises:
            CancelledError: On entry, where they were stopped before it could begin.
        """
        ticket = object()
        with self._changed:
            self._coming.add(ticket)
        return self._at_work(ticket)

    @contextmanager
    def _at_work(self, ticket: object) -> Iterator[RunPart]:
        try:
            self._enter()
            try:
                yield partial(self._run, ticket)
            finally:
                self._leave()
        finally:
            self._came(ticket)

    def stop(self) -> None:
        """Lets no landing begin any more."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()

    def _enter(self, *, again: bool = False) -> None:
        with self._changed:
            self._returning += again
            self._changed.wait_for(
                lambda: (self._free and (again or not self._returning)) or (self._is_stopped and not again)
            )
            self._returning -= again
            if self._is_stopped and not again:
                raise CancelledError
            self._free -= 1

    def _leave(self) -> None:
        with self._changed:
            self._free += 1
            self._changed.notify_all()

    def _came(self, ticket: object) -> None:
        with self._changed:
            self._coming.discard(ticket)
            self._changed.notify_all()

    def _run(self, ticket: object, part: Part) -> pa.Table:
        self._came(ticket)
        if part.is_small and part.reading.topic not in self._failing:
            seat = self._served(part)
            if seat.error:
                raise seat.error
            if seat.returned is not None:
                return seat.returned
        return self._alone(part)

    def _alone(self, part: Part) -> pa.Table:
        self._failing.add(part.reading.topic)
        returned = alone(part)
        self._failing.discard(part.reading.topic)
        return returned

    def _served(self, part: Part) -> _Seat:
        seat = _Seat(part, self._clock())
        with self._changed:
            self._waiting.append(seat)
        self._leave()
        try:
            while not seat.served:
                self._attend(seat)
        finally:
            self._enter(again=True)
        return seat

    def _attend(self, seat: _Seat) -> None:
        """Waits for something to happen, or runs the job that can depart."""
        with self._changed:
            if seat.served:
                return
            taken = self._departing()
            if not taken:
                self._changed.wait(None if self._is_running else self._patience_left)
                return
            self._is_running = True
        try:
            _serve(taken, self._logs_of(taken))
        finally:
            with self._changed:
                for each in taken:
                    each.served = True
                self._is_running = False
                self._changed.notify_all()

    def _logs_of(self, seats: Sequence[_Seat]) -> Logs:
        """All logs that were read so far: jobs of ever other topics then find the same consumers."""
        own = [seat.part.reading.logs for seat in seats]
        for logs in own:
            self._logs |= logs
        return dict(self._logs) if all(own) else {}

    @property
    def _patience_left(self) -> float:
        return max(0.0, self._waiting[0].since + PATIENCE - self._clock())

    def _departing(self) -> list[_Seat]:
        """Those that go now, off the ones that wait."""
        if self._is_running or not self._waiting:
            return []
        same = [s for s in self._waiting if s.part.reading.spark is self._waiting[0].part.reading.spark]
        taken = _fitting(same)
        is_full = len(taken) == MOST or len(taken) < len(same)
        if self._coming and self._patience_left and not is_full:
            return []
        self._waiting = [seat for seat in self._waiting if seat not in taken]
        return taken


def _fitting(seats: Sequence[_Seat]) -> list[_Seat]:
    """Those that go into one job: of two tables of one topic the first."""
    taken: dict[str, _Seat] = {}
    room, memory = float(JOB_BYTES), float(HELD_BYTES)
    for seat in seats:
        part, topic = seat.part, seat.part.reading.topic
        fits = part.bytes <= room and part.memory <= memory
        if len(taken) < MOST and topic not in taken and fits:
            taken[topic] = seat
            room, memory = room - part.bytes, memory - part.memory
    return list(taken.values())


def _serve(seats: Sequence[_Seat], logs: Logs) -> None:
    try:
        returned = run_together([seat.part for seat in seats], logs)
    except Exception as e:  # noqa: BLE001 - whose it is, each part by itself will tell
        if len(seats) == 1:
            seats[0].error = e
        else:
            _log.info("A job of %d landings failed; each of them goes alone", len(seats), exc_info=e)
        return
    for seat, rows in zip(seats, returned, strict=True):
        seat.returned = rows
