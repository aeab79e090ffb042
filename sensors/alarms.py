"""Reports what fails: runs, checks, parts of the stack; to channels once per cause, and once at its end."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from types import MappingProxyType

import dagster as dg
from pydantic import BaseModel

from assets.checks.attention import SENSOR, report_attention
from assets.description import PipelineTable, TopicTable
from assets.mistakes import CAN_BE_USED
from frazil.alarms.channels import channels_of, tell
from frazil.alarms.journal import Cause, Findings, Journal, Subject, without_echoes
from frazil.landing.position.state import look_at_parts
from frazil.pipelines.folder import Pipelines
from frazil.settings.profile import Settings
from frazil.settings.secret import conceal
from resources.connections import FrazilConnections
from sensors.failures import Watched, look_at_checks, look_at_runs, steps_there, watched_checks

_NO_CHANNEL = "for a message, set FRAZIL_ALARMS__WEBHOOK, see docs/monitoring.md"
_FIRST_LOOK = 3600.0  # seconds: what failed before the sensor was on


class _Cursor(BaseModel):
    """What the sensor remembers from tick to tick; Dagster keeps it."""

    journal: Journal = Journal()
    runs_until: float
    shown: list[str] | None = None  # what the asset `late_and_broken` lists


def alarms_sensor(
    tables: Sequence[PipelineTable],
    settings: Settings,
    pipelines: Pipelines,
    others: Iterable[dg.AssetCheckKey] = (),
    of_deployments: Watched = MappingProxyType({}),
) -> dg.SensorDefinition:
    """What a channel could not be told it is told at the next tick.

    `others` are checks that are of no single table.
    """
    watch = _Watch(tables, pipelines, {**watched_checks(tables, others), **of_deployments})

    @dg.sensor(
        name=SENSOR,
        minimum_interval_seconds=30,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Lists what is late or broken in the asset `late_and_broken`, and reports it to a "
        "webhook, Slack or e-mail, if they are set up: once per cause, and once when it ends.",
    )
    def alarms(context: dg.SensorEvaluationContext, frazil: FrazilConnections) -> dg.SkipReason:
        return watch.tick(context, frazil)

    return alarms


@dataclass(frozen=True, slots=True)
class _Watch:
    """What is watched, and what the sensor does at each tick."""

    tables: Sequence[PipelineTable]
    pipelines: Pipelines
    watched: Watched

    def tick(self, context: dg.SensorEvaluationContext, frazil: FrazilConnections) -> dg.SkipReason:
        """Looks at everything, tells what is new, and says what was told."""
        settings = frazil.connections.settings
        channels, now = channels_of(settings.alarms), time.time()
        cursor = _read(context.cursor, now)
        findings, until = self._findings(context, frazil, cursor)
        causes = without_echoes(findings, was_down=cursor.journal.was_down(now))
        cursor.journal.judge(_concealed(causes, settings), now)
        outcome = tell(cursor.journal, channels, settings.cluster, now)
        shown = _show(context.instance, cursor)
        context.update_cursor(
            _Cursor(journal=cursor.journal, runs_until=until, shown=shown).model_dump_json()
        )
        outcomes_text = "; ".join(f"{channel} {what}" for channel, what in outcome.items()) or "nothing new"
        return dg.SkipReason(
            f"{len(cursor.journal.entries)} causes are open: {outcomes_text if channels else _NO_CHANNEL}."
        )

    def _findings(
        self, context: dg.SensorEvaluationContext, frazil: FrazilConnections, cursor: _Cursor
    ) -> tuple[Findings, float]:
        """What was found of runs, checks and parts, and until when runs were looked at."""
        origin, entries = context.code_location_origin, cursor.journal.entries
        location = origin.location_name if origin else None
        runs, until = look_at_runs(context.instance, self.tables, cursor.runs_until, location)
        checks = look_at_checks(context.instance, self.watched, frazil.connections.settings.alarms.severity)
        asked = _asked(self.tables, frazil, self.pipelines)
        # The tables of a pipeline with a mistake are not gone for good.
        there = {*self.watched.values(), *asked}
        gone = {} if self.pipelines.broken else _gone(cursor.journal, there, self.tables)
        known = {*runs, *(entry.subject for entry in entries)}
        return {**gone, **runs, **checks, **asked, **_without_steps(known, steps_there(context))}, until


def _show(instance: dg.DagsterInstance, cursor: _Cursor) -> list[str]:
    """Shows what is open now on the asset's page, where it is other than before."""
    shown = [f"{a.subject}: {a.cause.name}, {a.cause.severity}, {a.since}" for a in cursor.journal.open]
    if shown != cursor.shown:
        report_attention(instance, cursor.journal)
    return shown


def _read(text: str | None, now: float) -> _Cursor:
    return _Cursor.model_validate_json(text) if text else _Cursor(runs_until=now - _FIRST_LOOK)


def _gone(journal: Journal, asked: Set[Subject], tables: Sequence[PipelineTable]) -> Findings:
    """What is told of a check, a connection or a table that the pipelines have no more: it is over."""
    names = {"", *(str(t.things.table) for t in tables)}
    known = (entry.subject for entry in journal.entries)
    return {s: None for s in known if (s.table not in names if s.kind == "run" else s not in asked)}


def _without_steps(known: Set[Subject], steps: Set[str]) -> Findings:
    """What is told of steps and jobs that nobody can run any more: it is over."""
    runs = {s: s.name.partition(".")[0].partition("[")[0] for s in known if s.kind == "run"}
    return {s: None for s, name in runs.items() if steps and name not in steps}


def _asked(tables: Sequence[PipelineTable], frazil: FrazilConnections, pipelines: Pipelines) -> Findings:
    """Kafka and the catalog, for while they are silent no run fails; and pipelines, as they were loaded."""
    topics = [t.spec for t in tables if isinstance(t, TopicTable)]
    parts = look_at_parts(topics, frazil.connections)
    causes: dict[Subject, Cause | None] = {
        Subject("part", part): Cause.of(error) if error else None for part, error in parts.items()
    }
    for path, error in pipelines.errors.items():
        pipeline = Subject("check", CAN_BE_USED, "/".join(path))
        causes[pipeline] = Cause(CAN_BE_USED, str(error)) if error else None
    return causes


def _concealed(findings: Findings, settings: Settings) -> Findings:
    """Libraries may put a password into their errors."""
    return {
        subject: replace(cause, text=conceal(cause.text, settings)) if cause else None
        for subject, cause in findings.items()
    }
