"""Tells the checks of freshness of tables that nothing is landed into, for no run checks it then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import dagster as dg

from frazil.checks.result import CheckResult
from frazil.checks.run import freshness_results
from frazil.landing.arrivals import Arrivals
from frazil.landing.position.state import BLOCKED, TableState
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from sensors.verdicts import news_of, tell_verdicts


@dataclass
class Freshness:
    """Remembers since when records were seen to wait.

    The last landing may be long ago where a topic was quiet, or Kafka down: the first record after that has
    waited for no time at all, and nobody is to be alarmed.
    """

    clock: Callable[[], float] = time.time
    _since: dict[str, tuple[float | None, float]] = field(default_factory=dict)

    def tell(self, instance: dg.DagsterInstance, seen: Arrivals, settings: Settings) -> None:
        """Tells of tables where it came out otherwise than last time.

        Of more than `MOST_TOLD` the next tick tells the others; those that fail come first.
        """
        now = self.clock()
        for _, state in seen.seen:
            self._note(state, now)
        there = [(spec, state) for spec, state in seen.seen if state.snapshot_id is not None]
        sure = (result for spec, state in there for result in self._sure(spec, state, settings, now))
        tell_verdicts(instance, news_of(instance, sure))

    def _sure(
        self, spec: TableSpec, state: TableState, settings: Settings, now: float
    ) -> Iterator[CheckResult]:
        """The verdicts, but for a failure that is none by what was seen."""
        _, since = self._since.get(state.identifier, (None, now))
        waited = replace(state, freshness=min(state.freshness or 0.0, now - since))
        for result in freshness_results([(spec, state)], settings):
            if result.passed or (result.check == "freshness" and self._is_sure(spec, state, now)):
                yield result
            elif result.check != "freshness":
                again = (r for r in freshness_results([(spec, waited)], settings) if r.check == result.check)
                yield from (r for r in again if not r.passed)

    def _note(self, state: TableState, now: float) -> None:
        """Records wait since they were first seen, or since the last landing left some."""
        if not state.lag:
            self._since.pop(state.identifier, None)
        elif self._since.get(state.identifier, (None, 0.0))[0] != state.landed_at:
            self._since[state.identifier] = state.landed_at, now
        else:
            self._since.setdefault(state.identifier, (state.landed_at, now))

    def _is_sure(self, spec: TableSpec, state: TableState, now: float) -> bool:
        """Whether a failure is one by what was seen, too; what a person must fix is."""
        limit = state.land_interval.freshness if state.land_interval else spec.freshness
        if state.state in BLOCKED or state.state == "topic missing" or limit is None:
            return True
        _, since = self._since.get(state.identifier, (None, now))
        return now - since > limit.total_seconds()
