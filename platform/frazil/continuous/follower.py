"""What follows landings: the tables made of a table, the targets that show it, and who hears of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import Empty, SimpleQueue
from threading import Event

from frazil.checks.own import results_of
from frazil.continuous.bulletin import Bulletin
from frazil.continuous.progress import Progress, Say, failure, recovery
from frazil.continuous.schedule import Backoff, Clock
from frazil.continuous.work import Work
from frazil.derive.computation import computation_of
from frazil.errors import ChecksFailedError, FrazilError, MissingError, NotYetError, OvertakenError, explain
from frazil.landing.report import LandingReport
from frazil.publishing.target import Target
from frazil.reporting import Failure
from frazil.settings.profile import Settings
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import TableName, things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec

_AT_ONCE = 4
_REST = 0.5  # seconds between two rounds
_LISTENERS = "telling Dagster"
_OTHERS_MOVE = 60.0
"""Seconds after which a table is derived again whose inputs others land."""

Submit = Callable[[Callable[[], None]], "Future[None]"]
"""Lets work be done, now or soon."""


def _at_once(work: Callable[[], None]) -> Future[None]:
    """Work that is done by now."""
    done: Future[None] = Future()
    work()
    done.set_result(None)
    return done


class Follower:
    """Works in rounds beside the landings: whatever landed since the last round is followed once.

    Args:
        specs: All tables, each after those that it is made of. Nobody knows what earlier runners left behind
            when they were killed: so all of them are followed at the start.
    """

    def __init__(
        self, specs: Sequence[AnyTable], work: Work, bulletin: Bulletin, settings: Settings, say: Say,
        clock: Clock = time.monotonic,
    ) -> None:  # fmt: skip
        self._specs = {things(spec, settings).table: spec for spec in specs}
        self._readers = _readers(self._specs)
        self._work, self._bulletin, self._say, self._clock = work, bulletin, say, clock
        self._settings = settings
        self._backoff = Backoff(clock)
        self._news: SimpleQueue[tuple[TableName, LandingReport | ChecksFailedError | Failure]] = SimpleQueue()
        self._owed = {name for name, spec in self._specs.items() if not spec.is_read_only}
        self._looked = clock()
        self._telling = _at_once(lambda: None)

    def landed(self, table: str, report: LandingReport) -> None:
        """Takes note of a landing; may be called by any thread."""
        self._news.put((self._named(table), report))

    def stopped(self, table: str, error: ChecksFailedError) -> None:
        """Takes note of checks that stop a table; may be called by any thread."""
        self._news.put((self._named(table), error))

    def failed(self, table: str, error: Exception) -> None:
        """Takes note of a landing that failed; may be called by any thread."""
        if news := Failure.of("land", error):
            self._news.put((self._named(table), news))

    def run(self, stop: Event) -> None:
        """Works until it is stopped; then what has landed is shown, and told. What is made of it waits."""
        self._tell(self._bulletin.hold)
        # Listeners take seconds, and so do the checks that they hear of: what lands meanwhile is shown.
        with ThreadPoolExecutor(1, thread_name_prefix="telling") as pool:
            while not stop.wait(_REST):
                self.round(stop, pool.submit)
        self._take_in()
        self._show_landed()
        self._tell_gathered(_at_once)
        self._tell(self._bulletin.release)

    def round(self, stop: Event, submit: Submit = _at_once) -> None:
        """Follows all that is owed, and tells of it when it is time.

        Args:
            stop: Ends the round between two tables.
            submit: Lets another thread tell, one batch after the other; by default this one tells.
        """
        self._take_in()
        self._show_landed()
        for name, spec in self._specs.items():
            if isinstance(spec, DerivedSpec) and self._is_owed(name) and not stop.is_set():
                self._follow(name)
        if self._bulletin.is_due and self._telling.done():
            self._tell_gathered(submit)

    def _tell_gathered(self, submit: Submit) -> None:
        tell = partial(self._bulletin.tell, self._bulletin.take())
        self._telling = submit(partial(self._tell, tell))

    def _show_landed(self) -> None:
        topics = [name for name, spec in self._specs.items() if isinstance(spec, TableSpec)]
        if owed := [name for name in topics if self._is_owed(name)]:
            with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="showing") as pool:
                list(pool.map(self._follow, owed))

    def _is_owed(self, name: TableName) -> bool:
        return name in self._owed and not self._backoff.rests(str(name))

    def _tell(self, tell: Callable[[], None]) -> None:
        """What can't be told now is not told again: the next event of the table says how it stands."""
        try:
            tell()
        except Exception as e:  # noqa: BLE001 - no landing may end because nobody listens
            self._failed_at(_LISTENERS, explain(e))
        else:
            self._works(_LISTENERS)

    def _take_in(self) -> None:
        while True:
            try:
                name, news = self._news.get_nowait()
            except Empty:
                break
            if isinstance(news, ChecksFailedError):
                self._judged(name, news)
                continue
            self._bulletin.add(self._specs[name], news)
            if isinstance(news, Failure):
                continue
            self._owed |= {name, *self._readers.get(name, ())}
        if self._clock() - self._looked > _OTHERS_MOVE:
            self._looked = self._clock()
            self._owed |= self._readers.get(None, set())

    def _judged(self, name: TableName, error: ChecksFailedError) -> None:
        for result in results_of(self._specs[name], self._settings, error.outcomes):
            self._bulletin.add(self._specs[name], result)

    def _named(self, table: str) -> TableName:
        return next(name for name in self._specs if str(name) == table)

    def _follow(self, name: TableName) -> None:
        spec = self._specs[name]
        self._owed.discard(name)
        try:
            if isinstance(spec, DerivedSpec):
                self._derive(name, spec)
            self._bulletin.add(spec, self._work.show(spec, partial(self._unshown, spec)))
        except OvertakenError:
            self._owed.add(name)  # the other one may have read less
        except Exception as e:  # noqa: BLE001 - one table must not stop the others
            self._failed(name, spec, e)
        else:
            self._works(str(name))

    def _unshown(self, spec: AnyTable, target: Target, error: Exception) -> None:
        self._tell_failure(spec, Failure.of("publish", error, target.path))

    def _tell_failure(self, spec: AnyTable, failure: Failure | None) -> None:
        if failure:
            self._bulletin.add(spec, failure)

    def _derive(self, name: TableName, spec: DerivedSpec) -> None:
        try:
            report = self._work.derive(spec)
        except Exception as e:
            self._tell_failure(spec, Failure.of("derive", e))
            raise
        self._bulletin.add(spec, report)
        if report.done:
            self._owed |= self._readers.get(name, set())
            facts = {"rows": report.rows, "seconds": report.seconds}
            self._say(
                Progress("derived", str(name), f"{name}: {report.rows:,} rows, {report.seconds:.1f} s", facts)
            )

    def _failed(self, name: TableName, spec: AnyTable, error: Exception) -> None:
        waits = MissingError if isinstance(spec, DerivedSpec) else NotYetError
        if isinstance(error, waits):
            return  # it is owed again once what it waits for has landed
        if isinstance(error, ChecksFailedError):
            self._judged(name, error)
        self._owed.add(name)
        self._failed_at(str(name), explain(error))

    def _failed_at(self, name: str, error: FrazilError) -> None:
        if self._backoff.failed(name, error):
            self._say(failure(name, error))

    def _works(self, name: str) -> None:
        if self._backoff.worked(name):
            self._say(recovery(name))


def _readers(specs: Mapping[TableName, AnyTable]) -> dict[TableName | None, set[TableName]]:
    """By table those that are made of it; by None those of which an input is none of these tables."""
    readers: dict[TableName | None, set[TableName]] = {}
    for name, spec in specs.items():
        for text in computation_of(spec).inputs if isinstance(spec, DerivedSpec) else ():
            input_name = TableName.parse(text, name.namespace)
            known = isinstance(specs.get(input_name), DerivedSpec) or _is_landed(specs.get(input_name))
            readers.setdefault(input_name if known else None, set()).add(name)
    return readers


def _is_landed(spec: AnyTable | None) -> bool:
    return isinstance(spec, TableSpec) and not spec.is_read_only
