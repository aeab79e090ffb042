"""Looks whether others changed the objects of deployments, and says what differs once per cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import dagster as dg
from pydantic import BaseModel

from assets.deployments.checks import DRIFT, drift_result
from assets.deployments.objects import DeploymentAssets
from frazil.alarms.journal import Subject
from frazil_cloud.deployment import reconciler_of
from frazil_cloud.plan import Plan
from sensors.deployments.clouds import looked_at
from sensors.failures import Watched

_SECONDS_BETWEEN = 300


class _Cursor(BaseModel):
    """By deployment and address what was found to differ."""

    drifted: dict[str, dict[str, str]] = {}


def drift_sensor(deployments: Sequence[DeploymentAssets]) -> dg.SensorDefinition:
    """Compares each deployment that was made with what it should be. It changes nothing."""

    @dg.sensor(
        name="drift",
        minimum_interval_seconds=_SECONDS_BETWEEN,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Finds what others changed in the clouds. A check of the object fails, once per cause.",
    )
    def drift(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        cursor = _Cursor.model_validate_json(context.cursor) if context.cursor else _Cursor()
        events: list[dg.AssetCheckEvaluation] = []
        remarks: list[str] = []
        for made, plan in looked_at(deployments, _plan, remarks):
            before = cursor.drifted.get(made.spec.name, {})
            now = _differences(plan)
            events += _news(made, plan, before, now)
            cursor.drifted[made.spec.name] = now
            remarks.append(_summary(made.spec.name, plan, now))
        skip = None if events else dg.SkipReason(" ".join(remarks))
        context.log.info(" ".join(remarks))
        return dg.SensorResult(asset_events=events, cursor=cursor.model_dump_json(), skip_reason=skip)

    return drift


def watched_drift(deployments: Sequence[DeploymentAssets]) -> Watched:
    """The drift checks of all objects, and what an alarm calls them."""
    return {
        dg.AssetCheckKey(key, DRIFT): Subject("check", DRIFT, key.to_user_string())
        for made in deployments
        for key in made.addresses
    }


def _plan(made: DeploymentAssets, patience: float) -> Plan:
    return reconciler_of(made.spec, made.settings, patience=patience).plan()


def _differences(plan: Plan) -> dict[str, str]:
    """What differs, by address; nothing where the deployment was not made yet."""
    if all(step.action == "create" for step in plan.steps):
        return {}
    return {step.address: str(step) for step in plan.news}


def _news(
    made: DeploymentAssets, plan: Plan, before: dict[str, str], now: dict[str, str]
) -> Iterator[dg.AssetCheckEvaluation]:
    """What differs otherwise than before, and what no longer does."""
    keys = {address: key for key, address in made.addresses.items()}
    for step in (each for each in plan.steps if each.address in keys):  # others were taken out: no assets
        if before.get(step.address) != now.get(step.address):
            result = drift_result(keys[step.address], step)
            yield dg.AssetCheckEvaluation(
                asset_key=keys[step.address],
                check_name=DRIFT,
                passed=step.address not in now,
                description=result.description,
                metadata={},
            )


def _summary(name: str, plan: Plan, now: dict[str, str]) -> str:
    if now:
        return f"{name}: {', '.join(now)} differ."
    made = not plan.news
    return f"{name} is as it should be." if made else f"{name} was not made."
