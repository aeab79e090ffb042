"""The loop: looks at Kafka once a second, starts landings, and takes in what became of them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from functools import partial
from queue import Empty, SimpleQueue
from threading import Event, Thread

from frazil.continuous.follower import Follower
from frazil.continuous.progress import Progress, Say, failure, recovery
from frazil.continuous.schedule import Pace, Schedule, Turn
from frazil.continuous.work import Work
from frazil.errors import ChecksFailedError, FrazilError, OvertakenError, PausedError, RepairError, explain
from frazil.landing.arrivals import Arrivals
from frazil.landing.lane.joint import MOST
from frazil.landing.many import AT_ONCE
from frazil.landing.position.state import BLOCKED
from frazil.landing.report import LandingReport
from frazil.spec.topic import TableSpec

LOOK_EVERY = 1.0
"""Seconds between two looks."""

BUSY, IDLE = 0.5, 0.02
"""Share of the time that looks may take while tables are due, and while none are: a thousand take seconds."""

_LOOKS_AN_INTERVAL = 4  # at least, whatever looks take
_FACTS = (
    "topic", "records", "dead_letters", "spans", "snapshot_id", "max_timestamp", "median_timestamp",
    "seconds",
)  # fmt: skip
_NEXT = {
    "suspended": " Next: fix the producer or the schema, then `frazil resume {0}`; see docs/runbook.md.",
    "paused": " Next: `frazil resume {0}` lands what waits.",
}
"""What a person does about a state whose reason does not say so."""

_ALL = ""  # stands for all tables, where a server does not answer

_log = logging.getLogger(__name__)

Ended = tuple[Turn, Future[LandingReport]]

Own = Callable[[Sequence[TableSpec]], Sequence[TableSpec]]
"""Which of the tables this runner lands, now."""


def all_of(specs: Sequence[TableSpec]) -> Sequence[TableSpec]:
    """What a runner lands that shares with nobody."""
    return specs


class Runner:
    """Lands topics until it is stopped.

    A table that fails is tried again, ever more seldom, and stops no other. Nothing is kept but in memory:
    a runner that is killed has lost nothing, and a second one beside it only does work that is dropped.
    """

    def __init__(
        self, topics: Sequence[TableSpec], work: Work, follower: Follower, say: Say,
        at_once: int = AT_ONCE, look_every: float = LOOK_EVERY, own: Own = all_of,
    ) -> None:  # fmt: skip
        self._topics = [spec for spec in topics if not spec.is_read_only]
        self._work, self._follower, self._say, self._at_once = work, follower, say, at_once
        self._own = own
        self._schedule = Schedule(at_once, small=MOST)
        self._backoff = self._schedule.backoff
        shortest = min((spec.interval.total_seconds() for spec in self._topics), default=0.0)
        self._pace = Pace(look_every, shortest / _LOOKS_AN_INTERVAL)
        self._ended: SimpleQueue[Ended | None] = SimpleQueue()
        self._waits: dict[str, str] = {}
        self._begun: dict[str, float] = {}  # in seconds since the epoch, by table
        self._stopping = False

    def stop(self) -> None:
        """Begins no landing any more; the signal handler's part, so it takes no lock."""
        self._stopping = True
        self._ended.put(None)

    def run(self) -> None:
        """Returns when it was stopped and the landings in hand have ended."""
        stop = Event()
        following = Thread(target=self._follower.run, args=(stop,), name="following")
        following.start()
        try:
            with ThreadPoolExecutor(self._at_once + MOST, thread_name_prefix="landing") as pool:
                while not self._stopping:
                    self._start(pool)
                    self._take_ended(self._pace.left)
                self._work.stop()
                hands = self._schedule.at_work
                text = f"Stopping; landings in hand that end first: {hands}."
                self._say(Progress("stopping", "", text, {"landings": hands}))
            self._take_ended(0.0)
        finally:
            stop.set()
            following.join()

    def _start(self, pool: ThreadPoolExecutor) -> None:
        if not self._pace.left:
            self._look()
        for turn in self._schedule.turns():
            self._begun[turn.due.table] = time.time()
            future = pool.submit(self._work.land, turn.due.spec, turn.records)
            future.add_done_callback(partial(self._note, turn))

    def _note(self, turn: Turn, future: Future[LandingReport]) -> None:
        self._ended.put((turn, future))

    def _take_ended(self, seconds: float) -> None:
        """Waits for so long for a landing that ends, and takes in all that have."""
        try:
            ended = self._ended.get(timeout=seconds) if seconds else self._ended.get_nowait()
            while True:
                if ended:
                    self._take_in(*ended)
                ended = self._ended.get_nowait()
        except Empty:
            return

    def _look(self) -> None:
        self._pace.begin()
        seen, silent = self._work.look(self._own(self._topics))
        due = [each for arrivals in seen for each in arrivals.due]
        self._pace.end(BUSY if due else IDLE)
        self._schedule.look(due)
        if silent and self._backoff.failed(_ALL, explain(silent[0])):
            self._say(failure(_ALL, explain(silent[0])))
        elif not silent and self._backoff.worked(_ALL):
            self._say(recovery(_ALL))
        self._tell_waiting(seen)

    def _tell_waiting(self, seen: Sequence[Arrivals]) -> None:
        """Tells once of each table that nothing can be landed into before somebody does something."""
        states = [state for arrivals in seen for state in arrivals.states]
        waits: dict[str, str] = {
            s.identifier: s.state for s in states if s.state in (*BLOCKED, "topic missing")
        }
        reasons = {s.identifier: s.reason for s in states}
        for table, word in waits.items():
            if self._schedule.works_on(table):
                continue  # its landing tells it, with more words
            if self._waits.get(table) != word and not self._backoff.is_reported(table):
                sentence = f"{table}: {word}. {reasons[table]}".rstrip()
                text = f"{sentence}{_NEXT.get(word, '').format(table)}"
                self._say(Progress("waits", table, text, {"state": word, "reason": reasons[table]}))
        self._waits = {table: word for table, word in waits.items() if not self._schedule.works_on(table)}

    def _take_in(self, turn: Turn, future: Future[LandingReport]) -> None:
        table = turn.due.table
        self._schedule.ended(table)
        error = future.exception()
        if isinstance(error, CancelledError):
            return  # it waited for a place when the runner was stopped
        if isinstance(error, OvertakenError):
            self._say(Progress("overtaken", table, f"{table}: another landing was quicker; nothing is lost."))
        elif isinstance(error, PausedError):
            return  # the next look tells it, as of every table that waits for a person
        elif isinstance(error, Exception):
            self._stopped(turn, error)
            self._follower.failed(table, error)
            self._failed(table, explain(error))
            return
        elif error is not None:
            raise error
        else:
            self._landed(table, future.result())
        if self._backoff.worked(table):
            self._say(recovery(table))

    def _landed(self, table: str, report: LandingReport) -> None:
        if not report.landings:
            return
        facts = {name: getattr(report, name) for name in _FACTS}
        bad = f", {report.dead_letters:,} dead letters" if report.dead_letters else ""
        text = f"{table}: {report.records:,} records{bad}, {report.seconds:.1f} s"
        self._say(Progress("landed", table, text, facts))
        self._follower.landed(table, report)

    def _stopped(self, turn: Turn, error: Exception) -> None:
        """Has followed what was published before a table stopped, and has told which checks stop it."""
        if not isinstance(error, RepairError):
            return
        try:
            report = self._work.published(turn.due.spec, self._begun[turn.due.table])
        except Exception as e:  # noqa: BLE001 - the table's own error is the one that counts
            _log.info("%s: what was published can't be told: %s", turn.due.table, e)
        else:
            if report:
                self._landed(turn.due.table, report)
        if isinstance(error, ChecksFailedError):
            self._follower.stopped(turn.due.table, error)

    def _failed(self, table: str, error: FrazilError) -> None:
        if self._backoff.failed(table, error):
            self._say(failure(table, error))
