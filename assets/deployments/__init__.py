"""The component of a deployment, and the deployments that come with Frazil as folders beside it."""

# No `from __future__ import annotations`: Dagster reads the annotations of components.
from pathlib import Path
from typing import Any, Self

import dagster as dg
from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from assets.deployments.checks import deployment_checks
from assets.deployments.jobs import deployment_jobs
from assets.deployments.objects import DeploymentAssets, deployment_objects
from frazil.pipelines.places import fill_in
from frazil.settings.profile import Settings
from frazil_cloud.spec import folders
from frazil_cloud.spec.deployment import DeploymentSpec


class _Written(BaseModel):
    """The attributes as YAML gives them, templates and all; described to editors field by field."""

    model_config = ConfigDict(extra="allow")

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(DeploymentSpec.__pydantic_core_schema__)


class Deployment(dg.Component):
    """All objects in Confluent Cloud, AWS and Snowflake that some pipelines live in."""

    def __init__(self, spec: DeploymentSpec) -> None:
        self.spec = spec

    @classmethod
    def get_model_cls(cls) -> type[BaseModel]:
        """See `dg.Component`."""
        return _Written

    @classmethod
    def load(cls, attributes: BaseModel | None, context: dg.ComponentLoadContext) -> Self:
        """Read as the command line reads it, which has told every mistake before."""
        written: dict[str, Any] = attributes.model_dump() if attributes else {}
        return cls(DeploymentSpec.model_validate(fill_in(written)))

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """An asset of each object, its checks, and the jobs that make and delete all of them."""
        path = Path(context.path)
        folder = path if path.is_dir() else path.parent
        made = DeploymentAssets(folders.Deployment(self.spec, folder), Settings.load())
        return dg.Definitions(
            assets=[deployment_objects(made)],
            asset_checks=[deployment_checks(made)],
            jobs=deployment_jobs(made),
        )
