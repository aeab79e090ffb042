"""Lands many tables at once, a few at a time; one that fails does not keep the others from landing.

One look finds those of many whose topic has moved: only they cost a schema, a plan and a table's metadata.
Small ones by the Arrow lane share Spark jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, suppress
from threading import Event

from frazil.connections import Connections, apart
from frazil.errors import FrazilError, InterruptedWorkError
from frazil.landing.land import land
from frazil.landing.lane.joint import MOST, JointJobs
from frazil.landing.lane.parts import RunPart
from frazil.landing.position.state import TableState, known_states
from frazil.landing.report import LandingReport
from frazil.spec.names import things
from frazil.spec.topic import TableSpec

AT_ONCE = 4
"""A small landing mostly waits for the catalog: four keep two cores busy, more only queue up in Spark."""

THREADS = 2 * MOST
"""While a full job runs, as many landings are planned or published, a few at a time."""

Outcome = tuple[TableSpec, LandingReport | TableState | Exception]
"""What became of one table; its state where there was nothing to land."""

LandOne = Callable[[TableSpec, RunPart], LandingReport]


def land_many(
    specs: Sequence[TableSpec], connections: Connections, *, run_id: str = "", at_once: int = AT_ONCE
) -> Generator[Outcome, None, None]:
    """Lands tables in threads, and gives each one's report, or what kept it from landing.

    Of more than `at_once` tables, those whose topic stands still are left as they are, and their state is
    given. A new schema then comes with the first record. A caller that is interrupted, or closes this, waits
    until those under way have ended: no other one begins its commit then.

    Yields:
        One outcome per table, in the order in which they end.
    """
    stopped = Event()

    def on_step(step: str) -> None:
        if stopped.is_set() and step != "published":
            raise _stopped()

    def one(spec: TableSpec, run_part: RunPart) -> LandingReport:
        return land(spec, connections.of(spec), run_id=run_id, run_part=run_part, on_step=on_step)

    quiet = list(quiet_tables(specs, connections)) if len(specs) > at_once else []
    yield from quiet
    left = {id(spec) for spec, _ in quiet}
    waiting = [spec for spec in specs if id(spec) not in left]
    yield from land_together(waiting, one, at_once, on_end=stopped.set)


def _stopped() -> InterruptedWorkError:
    return InterruptedWorkError(
        "The landing was stopped before its commit.",
        meaning="Nothing of it is visible.",
        todo="Nothing: the next landing goes on where the last commit ended.",
    )


def land_together(
    specs: Sequence[TableSpec],
    land_one: LandOne,
    at_once: int = AT_ONCE,
    on_end: Callable[[], None] = lambda: None,
) -> Iterator[tuple[TableSpec, LandingReport | Exception]]:
    """Lands tables in threads, each by a function; gives them as they end.

    A caller that is interrupted or closes it waits for the landings under way: `on_end` is called before.
    """
    jobs = JointJobs(at_once)

    def one(spec: TableSpec, landing: AbstractContextManager[RunPart]) -> LandingReport:
        with landing as run_part:
            return land_one(spec, run_part)

    pool = ThreadPoolExecutor(THREADS, thread_name_prefix="landing")
    try:
        running = {pool.submit(one, spec, jobs.landing()): spec for spec in specs}
        for done in as_completed(running):
            error = done.exception()
            if error is not None and not isinstance(error, Exception):
                raise error
            yield running[done], error or done.result()
    finally:
        on_end()
        jobs.stop()
        pool.shutdown(cancel_futures=True)


def quiet_tables(
    specs: Sequence[TableSpec], connections: Connections
) -> Iterator[tuple[TableSpec, TableState]]:
    """The tables that hold all of their topics; one that can't be told of is landed, and says why."""
    for own, clients in apart(specs, connections):
        names = {str(things(spec, clients.settings).table): spec for spec in own}
        with suppress(FrazilError):
            states, _ = known_states(own, clients)
            yield from (
                (names[s.identifier], s)
                for s in states
                if s.state in ("current", "behind") and not s.readable
            )
