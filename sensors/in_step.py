"""Looks whether Glue and Snowflake show each table as it is; what does not is told once per cause."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import dagster as dg

from assets.description import PipelineTable
from frazil.checks.layers.judge import FRESH
from frazil.checks.layers.watch import PATIENCE, Look, Watch
from frazil.checks.result import CheckResult, Severity
from frazil.checks.run import run_check
from frazil.checks.targets.drift import Drift
from frazil.errors import FrazilError, RetryError
from frazil.publishing.target import Target
from frazil.publishing.targets import TARGETS
from resources.connections import FrazilConnections
from sensors.verdicts import evaluations, news_of, tell_verdicts

_TOLD_ELSEWHERE = ("held", "down", "refused")
"""States whose cause another check tells: the one that holds the table, or the access to the target."""

_BY = "noticed_by"
_SENSOR = "in_step"

Access = Mapping[str, dg.AssetCheckKey]
"""By the word of a target the check that fails while it does not answer."""


def answering(checks: Mapping[str, dg.AssetCheckKey]) -> Access:
    """Of the doctor's checks, by their names, those of targets."""
    return {word: checks[name] for word in TARGETS if (name := f"{word}_access") in checks}


@dataclass
class _Patience:
    """Since when each target is in a state that the next publication should end."""

    clock: Callable[[], float]
    _seen: dict[tuple[str, str], tuple[str, float]] = field(default_factory=dict)

    def is_over(self, drift: Drift) -> bool:
        """Whether that lasts for too long; a publication may be under way."""
        key, now = (drift.table, drift.target), self.clock()
        if self._seen.get(key, ("", 0.0))[0] != drift.state:
            self._seen[key] = drift.state, now
        return now - self._seen[key][1] >= PATIENCE or (drift.seconds or 0.0) >= PATIENCE


@dataclass(frozen=True)
class _Verdicts:
    """What one look means for the checks of the targets."""

    tables: Mapping[str, PipelineTable]
    access: Access
    patience: _Patience
    instance: dg.DagsterInstance
    frazil: FrazilConnections

    def of(self, look: Look) -> Iterator[CheckResult]:
        """One for each check that there is something to say of."""
        pairs = [(drift, self._target(drift)) for drift in look.drifts]
        keys = [dg.AssetCheckKey(dg.AssetKey(target.path), target.check) for _, target in pairs]
        failing = {
            key for key, evaluation in evaluations(self.instance, keys).items() if not evaluation.passed
        }
        for (drift, target), key in zip(pairs, keys, strict=True):
            yield from self._limit(drift, target)
            sure = self.patience.is_over(drift)
            if drift.differs and sure and drift.state not in _TOLD_ELSEWHERE:
                yield _failure(drift, target)
            elif not drift.differs and key in failing:
                yield from self._run(drift, target.check)
        yield from self._accesses(look)

    def _target(self, drift: Drift) -> Target:
        return next(target for target in self.tables[drift.table].targets if target.word == drift.target)

    def _limit(self, drift: Drift, target: Target) -> Iterator[CheckResult]:
        if target.word in self.tables[drift.table].spec.fresh_within:
            yield from self._run(drift, FRESH.format(target.word))

    def _run(self, drift: Drift, check: str) -> Iterator[CheckResult]:
        """The check as it comes out now; nothing where a server does not answer."""
        spec = self.tables[drift.table].spec
        with suppress(RetryError):
            yield run_check(check, spec, self.frazil.of(spec))

    def _accesses(self, look: Look) -> Iterator[CheckResult]:
        """Whether the targets answer. Only what this sensor told is over when they do."""
        latest = evaluations(self.instance, list(self.access.values()))
        for word, key in self.access.items():
            if word in look.silent:
                error, count = look.silent[word]
                yield _access(
                    key, f"{word.capitalize()} does not tell of {count:,} tables. {error}", passed=False
                )
            elif word in look.answered and key in latest and _BY in latest[key].metadata:
                yield _access(key, f"{word.capitalize()} answers again.", passed=True)


def _failure(drift: Drift, target: Target) -> CheckResult:
    text = f"{drift.name} is not in step: {drift.state}. {drift.why.rstrip('.')}. {drift.todo}"
    severity: Severity = "WARN" if drift.state == "labels" else "ERROR"
    return CheckResult(
        target.check, drift.table, "failed", severity, text,
        {"seconds": round(drift.seconds or 0.0, 3), "snapshots": drift.snapshots or 0}, target.path,
    )  # fmt: skip


def _access(key: dg.AssetCheckKey, text: str, *, passed: bool) -> CheckResult:
    path = tuple(key.asset_key.path)
    return CheckResult(key.name, "", "passed" if passed else "failed", "ERROR", text, {_BY: _SENSOR}, path)


def in_step_sensor(
    tables: Sequence[PipelineTable], access: Access, clock: Callable[[], float] = time.time
) -> dg.SensorDefinition:
    """It changes nothing and reads no row. `frazil drift` says the same of all tables at once."""
    watch, patience = Watch(clock), _Patience(clock)
    by_name = {str(table.things.table): table for table in tables}

    @dg.sensor(
        name=_SENSOR,
        minimum_interval_seconds=60,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Looks whether Glue and Snowflake show each table as it is. If not, a check of the "
        "target fails, once per cause, and passes when that is over.",
    )
    def in_step(context: dg.SensorEvaluationContext, frazil: FrazilConnections) -> dg.SkipReason:
        try:
            look = watch.look((table.spec for table in tables), frazil.connections)
        except FrazilError as e:  # the sensor `alarms` tells of a catalog that does not answer
            return dg.SkipReason(str(e))
        verdicts = _Verdicts(by_name, access, patience, context.instance, frazil)
        news = news_of(context.instance, verdicts.of(look))
        tell_verdicts(context.instance, news)
        for drift in (each for each in look.drifts if each.differs):
            context.log.info("%s in %s: %s. %s", drift.table, drift.target, drift.state, drift.why)
        return dg.SkipReason(_summary(look, len(news)))

    return in_step


def _summary(look: Look, news: int) -> str:
    behind = sum(drift.differs for drift in look.drifts)
    facts = [
        f"Tables looked at: {look.looked_at}; compared in full: {len({d.table for d in look.drifts})}",
        f"targets not in step: {behind}" if behind else "none is out of step",
        f"{look.waiting} must wait for the next tick" if look.waiting else "",
        *(f"{word} does not tell of {count}" for word, (_, count) in look.silent.items()),
        f"checks told: {news}" if news else "",
    ]
    return "; ".join(filter(None, facts)) + "."
