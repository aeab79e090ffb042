"""What a sensor must know of the runs that it and others started."""

from __future__ import annotations

import json
from collections.abc import Iterable, Set
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import dagster as dg

__all__ = ["ARRIVALS", "arrivals_wait", "digest", "run_key", "tables_at_work", "tables_resting"]

ARRIVALS = "frazil/arrivals"
"""Tag of the runs that the arrivals sensor asks for; its value says what was waiting where."""

_WAITING = [dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.NOT_STARTED]
_AT_WORK = [
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
_LOST_AFTER = timedelta(hours=1)
"""A run whose process was killed stays "started" for ever; landing beside a live one is harmless."""

_REST = timedelta(minutes=1)
"""What failed a moment ago would most likely fail again, every ten seconds."""


def arrivals_wait(instance: dg.DagsterInstance) -> bool:
    """Whether a run of the arrivals sensor was asked for and has not begun."""
    return bool(_runs(instance, _WAITING, _LOST_AFTER, {ARRIVALS}))


def tables_at_work(instance: dg.DagsterInstance) -> set[dg.AssetKey]:
    """Assets that somebody's run makes right now, or is about to make."""
    return _assets(_runs(instance, [*_WAITING, *_AT_WORK], _LOST_AFTER))


def tables_resting(instance: dg.DagsterInstance) -> set[dg.AssetKey]:
    """Assets of this sensor's runs that failed a moment ago."""
    return _assets(_runs(instance, [dg.DagsterRunStatus.FAILURE], _REST, {ARRIVALS}))


def digest(facts: Iterable[object]) -> str:
    """The same facts give the same text."""
    return sha256(json.dumps(sorted(facts, key=str)).encode()).hexdigest()[:16]


def run_key(instance: dg.DagsterInstance, plan: str) -> str:
    """A key by which Dagster refuses to start the same plan twice, unless all earlier tries ended.

    Without the count, a landing that failed while its topic stands still would never be repeated.
    """
    tries = instance.get_runs_count(dg.RunsFilter(tags={ARRIVALS: plan}))
    return f"{plan}-{tries}"


def _runs(
    instance: dg.DagsterInstance,
    statuses: list[dg.DagsterRunStatus],
    within: timedelta,
    tags: Set[str] = frozenset(),
) -> list[dg.DagsterRun]:
    since = datetime.now(UTC) - within
    wanted = dg.RunsFilter(statuses=statuses, updated_after=since)
    return [run for run in instance.get_runs(wanted) if tags <= run.tags.keys()]


def _assets(runs: Iterable[dg.DagsterRun]) -> set[dg.AssetKey]:
    return {key for run in runs for key in run.asset_selection or ()}
