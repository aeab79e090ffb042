"""Small landings that the arrivals sensor makes by itself, in the process that serves the code.

A run of Dagster is a process, which takes seconds of CPU before it lands anything. This one is warm.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Lock

import dagster as dg

from frazil.checks.own import results_of
from frazil.clients import Clients
from frazil.connections import Connections
from frazil.continuous.schedule import Turn, turn_of
from frazil.continuous.work import WarmWork, Work
from frazil.errors import ChecksFailedError, OvertakenError, PausedError, explain
from frazil.landing.arrivals import Due
from frazil.landing.lane.joint import MOST
from frazil.reporting import Done, is_news
from frazil.settings.profile import Settings
from frazil.spec.table import AnyTable
from frazil_lineage.reporter import LineageReporter
from resources.events import as_reported, events_of

_log = logging.getLogger(__name__)


class SmallLandings:
    """Lands what is small, and leaves the rest to runs: what is large, and what failed here.

    Args:
        work: By default the engine's, with clients of its own that are kept from tick to tick.
    """

    def __init__(self, settings: Settings, work: Work | None = None) -> None:
        self._settings, self._work = settings, work
        self._busy = Lock()
        self._lineage = LineageReporter(settings)

    def land(
        self, dues: Sequence[Due], instance: dg.DagsterInstance, connections: Connections, log: logging.Logger
    ) -> list[Due]:
        """Lands some of the tables that are due, and tells Dagster of them as if their assets had run.

        Dagster gives a tick up after a minute, and its thread goes on: where an earlier one still waits for a
        server, nothing is begun here.

        Returns:
            Those that want a run.
        """
        turns = [turn_of(due) for due in dues]
        small = [turn for turn in turns if turn.is_small][:MOST]
        left = [turn.due for turn in turns if not turn.is_small]
        if not small:
            return left
        if not self._busy.acquire(blocking=False):
            log.warning("Small landings of an earlier tick are under way. The next tick looks again.")
            return left
        try:
            for turn, outcome in self._outcomes(small):
                if isinstance(outcome, OvertakenError | PausedError):
                    log.info("%s: %s", turn.due.table, outcome)
                elif isinstance(outcome, Exception):
                    log.warning("%s is left to a run. %s", turn.due.table, explain(outcome))
                    left.append(turn.due)
                    if isinstance(outcome, ChecksFailedError):  # a run would meet a suspended table
                        results = results_of(turn.due.spec, self._settings, outcome.outcomes)
                        self._tell(instance, turn.due.spec, results, connections)
                else:
                    self._tell(instance, turn.due.spec, outcome, connections)
                    log.info("%s: landed without a run", turn.due.table)
        finally:
            self._busy.release()
        return left

    def _outcomes(self, turns: Sequence[Turn]) -> Iterator[tuple[Turn, list[Done] | Exception]]:
        work = self._work = self._work or self._of_engine()
        with ThreadPoolExecutor(len(turns), thread_name_prefix="landing") as pool:
            yield from zip(turns, pool.map(partial(_outcome, work), turns), strict=True)

    def _tell(
        self, instance: dg.DagsterInstance, spec: AnyTable, done: Iterable[Done], connections: Connections
    ) -> None:
        news = list(filter(is_news, done))
        for each in news:
            for event in events_of(spec, each, connections.of(spec), instance):
                instance.report_runless_asset_event(as_reported(event, instance))
        self._lineage.tell_all([(spec, each) for each in news])

    def _of_engine(self) -> WarmWork:
        return WarmWork(lambda: Clients(self._settings), run_id=f"sensor-{time.time_ns()}")


def _outcome(work: Work, turn: Turn) -> list[Done] | Exception:
    """What was done to a table and found of it, or why nothing was landed."""
    spec = turn.due.spec
    try:
        done: list[Done] = [work.land(spec, turn.records)]
    except Exception as e:  # noqa: BLE001 - it is the outcome of this table
        return e
    try:
        done += [work.show(spec, lambda *_: None), *work.check(spec)]
    except Exception as e:  # noqa: BLE001 - the landing stands; automation shows it by a run, which tells why
        _log.warning("%s was landed, and not shown. %s", turn.due.table, explain(e))
    return done
