"""Jobs that make and delete a whole deployment."""

# No `from __future__ import annotations`: Dagster compares the types of an op's arguments, not their names.
from collections.abc import Iterator
from typing import Any

import dagster as dg
from pydantic import Field

from assets.deployments.objects import DeploymentAssets, Heard
from assets.outcome import engine_errors
from frazil.errors import ConfigureError


class DeleteConfig(dg.Config):
    """Nobody deletes a deployment by a click alone."""

    deployment: str = Field(description="The deployment's name again, to confirm.")


def deployment_jobs(made: DeploymentAssets) -> list[Any]:
    """`create_<name>` and `delete_<name>`."""
    everything = dg.AssetSelection.assets(*made.addresses).without_checks()
    create = dg.define_asset_job(
        f"create_{made.spec.name}", everything, description=f"Makes all objects of {made.spec.name}."
    )
    return [create, _delete(made)]


def _delete(made: DeploymentAssets) -> dg.JobDefinition:
    name = made.spec.name
    about = f"Deletes all objects of {name} in the clouds, with their data. It may be run again."

    @dg.op(name=f"delete_objects_of_{name}", description=about, out=dg.Out(dg.Nothing))
    def delete(context: dg.OpExecutionContext, config: DeleteConfig) -> Iterator[Any]:
        heard = Heard(context.log)
        with engine_errors():
            if config.deployment != name:
                raise ConfigureError(
                    f"This job deletes {name}, not {config.deployment}.",
                    meaning="Nothing was deleted.",
                    todo=f"Write `deployment: {name}` if you mean it.",
                )
            made.reconciler.destroy(made.reconciler.removal(), heard)
        for key, address in made.addresses.items():
            if address in heard.news:
                yield dg.AssetObservation(key, metadata={"state": "gone", "seconds": heard.seconds[address]})

    @dg.job(name=f"delete_{name}", description=about)
    def job() -> None:
        delete()

    return job
