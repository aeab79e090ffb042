"""Tells the check `freshness` of tables that nothing is landed into, for no run checks it then."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import dagster as dg

from frazil.checks.run import freshness_results
from frazil.landing.arrivals import Arrivals
from frazil.landing.position.state import BLOCKED, TableState
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from resources.events import check_evaluation

_MOST_TOLD = 50  # verdicts of one tick: Dagster's storage takes 15 ms of CPU for each


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

        Of more than `_MOST_TOLD` the next tick tells the others; those that fail come first.
        """
        now = self.clock()
        for _, state in seen.seen:
            self._note(state, now)
        there = [(spec, state) for spec, state in seen.seen if state.snapshot_id is not None]
        results = list(freshness_results(there, settings))
        keys = [dg.AssetCheckKey(dg.AssetKey(r.asset), r.check) for r in results]
        before = instance.event_log_storage.get_latest_asset_check_execution_by_key(keys)
        known = {key: record.status.value for key, record in before.items()}
        news = [
            result
            for key, result, (spec, state) in zip(keys, results, there, strict=True)
            if known.get(key) != ("SUCCEEDED" if result.passed else "FAILED")
            and (result.passed or self._is_sure(spec, state, now))
        ]
        for result in sorted(news, key=lambda r: r.passed)[:_MOST_TOLD]:
            instance.report_runless_asset_event(check_evaluation(result))

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
        if state.state in BLOCKED or state.state == "topic missing" or spec.freshness is None:
            return True
        _, since = self._since.get(state.identifier, (None, now))
        return now - since > spec.freshness.total_seconds()
