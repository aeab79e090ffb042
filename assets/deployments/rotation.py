"""The job that replaces the keys of a deployment, and its schedule."""

# No `from __future__ import annotations`: Dagster compares the types of an op's arguments, not their names.
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import dagster as dg
from pydantic import Field

from assets.deployments.objects import DeploymentAssets, path_of
from assets.outcome import engine_errors, failure
from frazil_cloud.rotation.deployment import Outcome, rotation_of
from frazil_cloud.rotation.turn import what_of

_DAILY, _HOURLY = "17 3 * * *", "17 * * * *"


class RotateConfig(dg.Config):
    """Which keys are replaced."""

    what: list[str] = Field([], description="Only these. Default: all.")
    now: bool = Field(False, description="Also replace keys that are not old yet.")


def step_of(name: str) -> str:
    """The step of the job, in whose config the keys are named."""
    return f"rotate_keys_of_{name}"


def job_of(name: str) -> str:
    """The job."""
    return f"rotate_{name}"


def rotation_job(made: DeploymentAssets) -> dg.JobDefinition:
    """`rotate_<name>`: no key that it touches is refused to anybody meanwhile."""
    name = made.spec.name
    about = f"Replaces the keys of {name} that are old enough, by the clouds' own dates."

    @dg.op(name=step_of(name), description=about, out=dg.Out(dg.Nothing))
    def rotate(context: dg.OpExecutionContext, config: RotateConfig) -> Iterator[Any]:
        outcomes: list[Outcome] = []
        with engine_errors():
            chosen = [what_of(each) for each in config.what]
        for outcome in rotation_of(made.spec, made.settings).turn_due(chosen, now=config.now):
            outcomes.append(outcome)
            yield from _observations(made, outcome)
        failed: dict[str, Exception] = {each.what: each.error for each in outcomes if each.error}
        if failed:
            raise failure(context, "were not rotated", failed, len(outcomes), things="kinds of keys")

    @dg.job(name=job_of(name), description=about)
    def job() -> None:
        rotate()

    return job


def rotation_schedule(made: DeploymentAssets, job: dg.JobDefinition) -> dg.ScheduleDefinition:
    """Looks each day (each hour, where keys live for less than two) and replaces what is old enough."""
    cron = _HOURLY if made.spec.rotation.every < timedelta(days=2) else _DAILY
    return dg.ScheduleDefinition(name=job_of(made.spec.name), job=job, cron_schedule=cron)


def _observations(made: DeploymentAssets, outcome: Outcome) -> Iterator[dg.AssetObservation]:
    """A turn, at the asset of what was turned. Ids and fingerprints are no secrets."""
    if turned := outcome.turned:
        address = "snowflake/user" if outcome.what == "rsa" else f"confluent/key/{outcome.what}"
        metadata: dict[str, Any] = {
            "key": turned.key,
            "instead_of": turned.instead_of,
            "revoked": len(turned.revoked),
        }
        yield dg.AssetObservation(dg.AssetKey(path_of(made.spec, address)), metadata=metadata)
