"""Trying again while something is on its way, and saying in the end why it never came."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import stamina

from frazil.errors import CloudSlowError
from frazil_cloud.resource import AnswerLost, NotYet, Throttled

T = TypeVar("T")

_log = logging.getLogger(__name__)

_FIRST = 0.1
_TRIES = 6
_SOON = 5.0  # seconds
SAID_EVERY = 15.0
"""Seconds after which a wait says again what it waits for."""
AN_ANSWER = "an answer"
"""What is waited for while the first try goes on."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """One wait, as people hear of it.

    Args:
        address: The object.
        reason: What it waits for.
        since: When the wait began.
        left: Seconds that it goes on at most.
    """

    address: str
    reason: str
    since: datetime
    left: float

    def __str__(self) -> str:
        when = f"since {self.since:%H:%M:%S} UTC, {self.left:.0f} s more at most"
        return f"{self.address} waits {when}: {self.reason}"

    @property
    def document(self) -> dict[str, Any]:
        """The same for scripts."""
        document = {"waiting": self.address, "for": self.reason, "since": self.since.isoformat()}
        return {**document, "seconds_left": round(self.left)}


Hear = Callable[[Waiting], None]
"""Hears of waits, from several threads."""


def log_waiting(waiting: Waiting) -> None:
    """Writes a wait into the log."""
    _log.info("%s", waiting)


def soon_again(error: Exception) -> bool | float:
    """Whether a call is sent again: its answer was lost, or the cloud wants to be asked within seconds."""
    if isinstance(error, Throttled):
        return error.after if error.after <= _SOON else False
    return isinstance(error, AnswerLost)


def insisting(
    ask: Callable[[], T], met: tuple[type[NotYet], ...] | Callable[[Exception], bool | float] = soon_again
) -> T:
    """The answer to a call that may be sent again at once, for it does the same twice: no creation.

    `met` is what it is sent again for.
    """
    tries = stamina.retry_context(on=met, attempts=_TRIES, wait_initial=0.05, wait_jitter=0.05, wait_max=1.0)
    for attempt in tries:
        with attempt:
            return ask()
    raise AssertionError("stamina ends by a result or by raising")


class Patience:
    """How long one object is waited for.

    Args:
        address: The object.
        seconds: How long.
        pause: Longest time between two looks, in seconds.
        stop: Once set, nobody waits any more.
        hear: Hears what is waited for, every 15 seconds.
    """

    def __init__(
        self, address: str, seconds: float, pause: float, stop: threading.Event, hear: Hear = log_waiting
    ) -> None:
        self._address, self._seconds, self._pause, self._stop = address, seconds, pause, stop
        self._hear = hear

    def wait(self, once: Callable[[], T]) -> T:
        """What `once` returns when it no longer raises `NotYet`.

        Raises:
            CloudSlowError: It still did when the time was up. Of all reasons the first of the weightiest
                is told: a last 429 would hide it.
        """
        reasons: list[NotYet] = []

        def again(error: Exception) -> bool | float:
            if not isinstance(error, NotYet) or self._stop.is_set():
                return False
            reasons.append(error)
            return error.after if isinstance(error, Throttled) else True

        tries = stamina.retry_context(
            on=again, attempts=None, timeout=self._seconds,
            wait_initial=_FIRST, wait_jitter=_FIRST, wait_max=self._pause,
        )  # fmt: skip
        try:
            with self._reported(reasons):
                for attempt in tries:
                    with attempt:
                        return once()
        except NotYet as e:
            raise self._given_up([*reasons, e]) from None
        raise AssertionError("stamina ends by a result or by raising")

    @contextmanager
    def _reported(self, reasons: Sequence[NotYet]) -> Iterator[None]:
        """Tells meanwhile what is waited for; in a thread, for one try may take minutes."""
        since, began, over = datetime.now(UTC), time.monotonic(), threading.Event()

        def tell() -> None:
            while not over.wait(SAID_EVERY):
                reason = str(reasons[-1]) if reasons else AN_ANSWER
                left = max(0.0, began + self._seconds - time.monotonic())
                self._hear(Waiting(self._address, reason, since, left))

        teller = threading.Thread(target=tell, name=f"waiting for {self._address}", daemon=True)
        teller.start()
        try:
            yield
        finally:
            over.set()
            teller.join()

    def _given_up(self, reasons: list[NotYet]) -> CloudSlowError:
        reason = max(reasons, key=lambda each: each.weight)  # the first, of equals
        stopped = self._stop.is_set()
        return CloudSlowError(
            f"{self._address}: {reason}",
            where="Waiting ended because another object failed."
            if stopped
            else f"{self._seconds:g} s passed.",
            meaning="What was made stays; nothing is made twice.",
            todo="Fix the reason, if it is yours to fix, and run the same again: it goes on from here.",
        )
