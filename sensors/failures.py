"""What Dagster's instance tells of failed runs and failed checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal

import dagster as dg

from assets.checks.comparisons import check_keys
from assets.description import PipelineTable
from assets.outcome import causes_of
from frazil.alarms.journal import Cause, Findings, Subject
from frazil.errors import FaultError
from sensors.runs import meant
from sensors.verdicts import evaluations

_ENDED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE]
_AT_ONCE = 200  # runs of one look
_OVERLAP = timedelta(minutes=1)  # processes note the end of their runs a little later than they say


def look_at_runs(
    instance: dg.DagsterInstance, tables: Sequence[PipelineTable], since: float, location: str | None
) -> tuple[Findings, float]:
    """How the steps of runs ended that were noted since a time, and up to when that is known.

    Args:
        location: Of the runs' code; those of another one are somebody else's.
    """
    wanted = dg.RunsFilter(statuses=_ENDED, updated_after=datetime.fromtimestamp(since, UTC) - _OVERLAP)
    records = instance.get_run_records(wanted, limit=_AT_ONCE, order_by="update_timestamp", ascending=True)
    findings: dict[Subject, Cause | None] = {}
    for record in records:
        if _location(record.dagster_run) in (None, location):
            findings |= dict(_look_at_run(instance, record.dagster_run, tables))
    return findings, max([since, *(r.update_timestamp.timestamp() for r in records)])


def _location(run: dg.DagsterRun) -> str | None:
    origin = run.remote_job_origin
    return origin.repository_origin.code_location_origin.location_name if origin else None


def _look_at_run(
    instance: dg.DagsterInstance, run: dg.DagsterRun, tables: Sequence[PipelineTable]
) -> Iterable[tuple[Subject, Cause | None]]:
    """Each step that ended, for each table that it worked on; and the run itself, where no step says why."""
    logs = instance.all_logs(run.run_id, of_type=dg.DagsterEventType.STEP_FAILURE)
    events = [log.dagster_event for log in logs if log.dagster_event]
    failed = {str(event.step_key): causes_of(event) for event in events}
    of = ["", *_worked_on(run, tables)]
    for step in instance.get_run_step_stats(run.run_id):
        if step.status and step.status.value in ("SUCCESS", "FAILURE"):
            for table in of:
                yield Subject("run", step.step_key, table), failed.get(step.step_key, {}).get(table)
    died = not run.is_success and not failed
    yield Subject("run", run.job_name), _death(run) if died else None


def _worked_on(run: dg.DagsterRun, tables: Sequence[PipelineTable]) -> list[str]:
    names = [str(t.things.table) for t in tables]
    if run.asset_selection is None:
        return meant(run, names)
    return [
        n
        for n, t in zip(names, tables, strict=True)
        if dg.AssetKey(t.things.iceberg_path) in run.asset_selection
    ]


def _death(run: dg.DagsterRun) -> Cause:
    return Cause(
        FaultError.__name__, f"Run {run.run_id} ended, and no step of it says why; Dagster's log may."
    )


def steps_there(context: dg.SensorEvaluationContext) -> frozenset[str]:
    """The jobs that there are, and their steps; none where nobody tells the sensor of them."""
    repository = context.repository_def
    if repository is None:
        return frozenset()
    jobs = repository.get_all_jobs()
    return frozenset(name for job in jobs for name in (job.name, *job.graph.node_dict))


Watched = Mapping[dg.AssetCheckKey, Subject]
"""Checks, and what an alarm calls them."""


def watched_checks(tables: Sequence[PipelineTable], others: Iterable[dg.AssetCheckKey]) -> Watched:
    """All checks of the tables, and others that are of no single table."""
    own = {
        key: Subject("check", key.name, str(table.things.table))
        for table in tables
        for deep in (False, True)
        for key in check_keys(table, deep=deep)
    }
    return own | {key: Subject("check", key.name) for key in others}


def look_at_checks(
    instance: dg.DagsterInstance, watched: Watched, least: Literal["WARN", "ERROR"]
) -> Findings:
    """How each check came out last; those that nobody ran, and those that run right now, are left out."""
    latest = evaluations(instance, list(watched))
    return {watched[key]: _cause(watched[key], each, least) for key, each in latest.items()}


def _cause(
    subject: Subject, evaluation: dg.AssetCheckEvaluation, least: Literal["WARN", "ERROR"]
) -> Cause | None:
    if evaluation.passed or (evaluation.severity.value, least) == ("WARN", "ERROR"):
        return None
    return Cause(subject.name, evaluation.description or "", evaluation.severity.value)
