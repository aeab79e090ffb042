"""What a sensor must know of the runs that it and others started."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import dagster as dg
from dagster._core.remote_origin import CodeLocationOrigin
from dagster._core.storage.tags import GRPC_INFO_TAG

from assets.checks.comparisons import steps_of
from assets.description import PipelineTable
from assets.outcome import causes_of
from assets.upkeep import FAILED
from frazil.upkeep.kinds import KINDS
from resources.reporting import reservation_key

ARRIVALS = ".dagster/frazil-arrivals"
"""Tag of the runs that the arrivals sensor asks for; its value says what was waiting where.

Dagster keeps tags of this prefix to itself: a digest tells a reader of the list of runs nothing.
"""

PLAN = ".dagster/frazil-upkeep-plan"
"""Tag of the runs that the upkeep sensor asks for; its value says which tables, for which kind."""

_WAITING = [dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.NOT_STARTED]
_AT_WORK = [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]
_LOST_AFTER = timedelta(hours=1)
"""Not every launcher notices that a run's process was killed; landing beside a live one is harmless."""

_REST = timedelta(minutes=1)  # what failed a moment ago would most likely fail again, every ten seconds

_UPKEEP_RESTS = timedelta(minutes=10)
"""A failed compaction may have cost gigabytes of rewriting; nobody waits for the next one."""


def end_lost_runs(instance: dg.DagsterInstance, here: CodeLocationOrigin | None) -> None:
    """Ends the runs of our code location whose processes are gone, as after a crash of the machine.

    The code server that started a process tells of its end. Where that one died as well, the run would stay
    "started", and hold its tables' pools and a place in the queue, forever.
    """
    for run in instance.get_runs(dg.RunsFilter(statuses=_AT_WORK)):
        origin = run.remote_job_origin
        ours = here and origin and origin.location_name == here.location_name and GRPC_INFO_TAG in run.tags
        if ours and _is_gone(instance, run.run_id):
            instance.report_run_failed(run, "The process of this run is gone: nobody heard of its end.")


def _is_gone(instance: dg.DagsterInstance, run_id: str) -> bool:
    events = instance.all_logs(run_id, of_type=dg.DagsterEventType.ENGINE_EVENT)
    metadata = [e.dagster_event.engine_event_data.metadata for e in events if e.dagster_event]
    pids = [int(str(about["pid"].value)) for about in metadata if "pid" in about]
    if not pids or _lives(pids[0]):
        return False
    now = instance.get_run_by_id(run_id)  # it may have ended well a moment ago
    return now is not None and now.status in _AT_WORK


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True


def arrivals_wait(instance: dg.DagsterInstance) -> bool:
    """Whether a run of the arrivals sensor was asked for and has not begun."""
    return bool(_runs(instance, _WAITING, _LOST_AFTER, {ARRIVALS}))


def tables_at_work(instance: dg.DagsterInstance) -> set[dg.AssetKey]:
    """Assets that somebody's run makes right now, or is about to make."""
    return _assets(_runs(instance, [*_WAITING, *_AT_WORK], _LOST_AFTER))


def reserved_tables(instance: dg.DagsterInstance, keys: Sequence[dg.AssetKey]) -> set[dg.AssetKey]:
    """The tables that a process outside Dagster lands: it said so, and has not been silent since."""
    by_name = {reservation_key(tuple(key.path)): key for key in keys}
    until = instance.daemon_cursor_storage.get_cursor_values(set(by_name)) if by_name else {}
    return {by_name[name] for name, at in until.items() if float(at) > time.time()}


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of a run of the arrivals sensor, each with the table that it works on, as its Iceberg asset.

    `tables`: these by name, for the step that lands many tables tells which of them failed.
    """

    tables: Mapping[str, dg.AssetKey]
    of_one: Mapping[str, dg.AssetKey]

    @classmethod
    def of(cls, tables: Iterable[PipelineTable]) -> Steps:
        """Those of some tables."""
        keys = {str(t.things.table): dg.AssetKey(t.things.iceberg_path) for t in tables}
        of_one = {step: keys[str(t.things.table)] for t in tables for step in steps_of(t)}
        return cls(keys, of_one)


def tables_resting(instance: dg.DagsterInstance, steps: Steps) -> set[dg.AssetKey]:
    """The tables at which this sensor's runs failed a moment ago; all of a run that does not tell which."""
    failed = _runs(instance, [dg.DagsterRunStatus.FAILURE], _REST, {ARRIVALS})
    return {key for run in failed for key in _failed_at(instance, run, steps)}


def _failed_at(instance: dg.DagsterInstance, run: dg.DagsterRun, steps: Steps) -> set[dg.AssetKey]:
    logs = instance.all_logs(run.run_id, of_type=dg.DagsterEventType.STEP_FAILURE)
    failed = [_tables_of(log.dagster_event, steps) for log in logs if log.dagster_event]
    return set().union(*failed) if failed and all(failed) else set(run.asset_selection or ())


def _tables_of(event: dg.DagsterEvent, steps: Steps) -> set[dg.AssetKey]:
    """The tables that a step failed at; none where it does not tell."""
    if one := steps.of_one.get(event.step_key or ""):
        return {one}
    causes = causes_of(event)
    known = {steps.tables[name] for name in causes if name in steps.tables}
    return known if len(known) == len(causes) else set()


def digest(facts: Iterable[object]) -> str:
    """The same facts give the same text."""
    return sha256(json.dumps(sorted(facts, key=str)).encode()).hexdigest()[:16]


def run_key(instance: dg.DagsterInstance, plan: str, tag: str = ARRIVALS) -> str:
    """A key by which Dagster refuses to start the same plan twice, unless all earlier tries ended.

    Without the count, a landing that failed while its topic stands still would never be repeated.
    """
    tries = instance.get_runs_count(dg.RunsFilter(tags={tag: plan}))
    return f"{plan}-{tries}"


def job_at_work(instance: dg.DagsterInstance, job: str) -> bool:
    """Whether a run of a job is at work, or is about to be."""
    return any(run.job_name == job for run in _runs(instance, [*_WAITING, *_AT_WORK], _LOST_AFTER))


def upkeep_at_work(instance: dg.DagsterInstance, tables: Collection[str]) -> set[tuple[str, str]]:
    """Kinds and tables that a run of upkeep works on right now, or is about to.

    A run by hand that names no table may work on any of `tables`.
    """
    runs = _upkeep(_runs(instance, [*_WAITING, *_AT_WORK], _LOST_AFTER))
    return {(run.job_name, table) for run in runs for table in meant(run, tables)}


def upkeep_resting(instance: dg.DagsterInstance, tables: Collection[str]) -> set[tuple[str, str]]:
    """Kinds and tables that a run of upkeep failed at a moment ago; all of its tables where it died."""
    runs = _upkeep(_runs(instance, [dg.DagsterRunStatus.FAILURE], _UPKEEP_RESTS))
    return {
        (run.job_name, table)
        for run in runs
        for table in (run.tags[FAILED].split() if FAILED in run.tags else meant(run, tables))
    }


def _upkeep(runs: Iterable[dg.DagsterRun]) -> list[dg.DagsterRun]:
    return [run for run in runs if run.job_name in KINDS]


def meant(run: dg.DagsterRun, tables: Collection[str]) -> list[str]:
    """The tables that a run of upkeep was told to work on; a person may leave out namespaces."""
    steps: Mapping[str, Any] = run.run_config.get("ops") or {}  # type: ignore[assignment]
    named = [name for step in steps.values() for name in step.get("config", {}).get("tables", ())]
    return [t for t in tables if not named or t in named or t.partition(".")[2] in named]


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
