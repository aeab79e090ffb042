"""Asks for a rotation where a key is old enough, by the clouds' own dates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import dagster as dg

from assets.deployments.objects import DeploymentAssets
from assets.deployments.rotation import job_of, step_of
from frazil_cloud.rotation.deployment import Outcome, rotation_of
from sensors.deployments.clouds import looked_at
from sensors.runs import digest, job_at_work, run_key

ROTATION = "frazil/rotation"
"""Tag of the runs that the sensor asks for; its value says which keys were old."""

_SECONDS_BETWEEN = 3600


def rotation_sensor(
    deployments: Sequence[DeploymentAssets], jobs: Sequence[dg.JobDefinition]
) -> dg.SensorDefinition:
    """One run per deployment and set of old keys; none while an earlier one is at it."""

    @dg.sensor(
        name="rotation",
        jobs=jobs,
        minimum_interval_seconds=_SECONDS_BETWEEN,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Replaces API keys and Snowflake's keys that are as old as the deployment says.",
    )
    def rotation(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        requests: list[dg.RunRequest] = []
        remarks: list[str] = []
        for made, ages in looked_at(deployments, _ages, remarks):
            due = [each for each in ages if each.age and each.age.is_due]
            remarks.extend(_summaries(made.spec.name, ages))
            if due and not job_at_work(context.instance, job_of(made.spec.name)):
                requests.append(_request(context.instance, made.spec.name, due))
        return dg.SensorResult(
            run_requests=requests, skip_reason=None if requests else dg.SkipReason(" ".join(remarks))
        )

    return rotation


def _ages(made: DeploymentAssets, patience: float) -> Sequence[Outcome]:
    return rotation_of(made.spec, made.settings, patience=patience).ages()


def _request(instance: dg.DagsterInstance, name: str, due: Sequence[Outcome]) -> dg.RunRequest:
    plan = digest((each.what, each.age.key) for each in due if each.age)
    config = {"what": [each.what for each in due]}
    return dg.RunRequest(
        job_name=job_of(name),
        run_key=run_key(instance, plan, ROTATION),
        run_config={"ops": {step_of(name): {"config": config}}},
        tags={ROTATION: plan},
    )


def _summaries(name: str, ages: Sequence[Outcome]) -> Iterator[str]:
    for each in ages:
        if each.error:
            yield f"{name}, {each.what}: {each.error.what}"
        elif each.age:
            yield f"{name}, {each.what}: due {each.age.due:%Y-%m-%d %H:%M}."
