"""What a user says of a deployment: the cloud objects that its pipelines live in."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field

from frazil.spec.values import Duration, Part
from frazil_cloud.spec.aws import AwsPart
from frazil_cloud.spec.confluent import ConfluentPart
from frazil_cloud.spec.names import Names
from frazil_cloud.spec.snowflake import SnowflakePart


class RotationPart(Part):
    """How keys are replaced."""

    every: Duration = Field(timedelta(days=30), description="Age at which a key is replaced.")
    keep: int = Field(2, ge=2, description="How many API keys for one use work at the same time.")
    rest: Duration = Field(
        timedelta(hours=1),
        description="How long a key may still be used after a new one replaced it.",
    )


class DeploymentSpec(Part):
    """One deployment. All of its objects carry its name, its prefix or its mark."""

    name: str = Field(
        pattern=r"^[a-z][a-z0-9_]{0,40}$", description="The name, which is part of its objects' names."
    )
    prefix: str = Field(
        "", pattern=r"^([a-z][a-z0-9_]{0,30})?$",
        description="Start of the names that do not hold the deployment's name. Default: the name.",
    )  # fmt: skip
    region: str = Field("us-east-1", pattern=r"^[a-z]{2}(-[a-z]+)+-\d$", description="Region of AWS.")
    pipelines: tuple[str, ...] = Field((), description="Pipelines whose topics and tables live in it.")
    confluent: ConfluentPart | None = Field(
        None, description="The Kafka environment. Without it, Kafka is yours."
    )
    aws: AwsPart = Field(description="Bucket, roles, secrets and parameters.")
    snowflake: SnowflakePart | None = Field(
        None, description="Snowflake's objects. Without it, tables are not shown there."
    )
    rotation: RotationPart = Field(default_factory=RotationPart, description="How keys are replaced.")

    @property
    def names(self) -> Names:
        """What its objects are called."""
        warehouse = self.snowflake.warehouse if self.snowflake else ""
        return Names(self.name, self.prefix or self.name, self.aws, warehouse)

    @property
    def mark(self) -> str:
        """Stands in tags, comments and descriptions of all that is its own."""
        return f"frazil:{self.name}"
