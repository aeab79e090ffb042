"""The objects of a deployment, put together from the three clouds."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from frazil.settings.profile import Settings
from frazil_cloud import CLOUD
from frazil_cloud.aws.client import Aws
from frazil_cloud.aws.objects import objects as aws
from frazil_cloud.aws.removal import former as aws_had
from frazil_cloud.aws.secrets import SecretsManager
from frazil_cloud.clouds import Clouds
from frazil_cloud.confluent.client import Confluent
from frazil_cloud.confluent.objects import objects as confluent
from frazil_cloud.confluent.removal import former as confluent_had
from frazil_cloud.patience import Hear, log_waiting
from frazil_cloud.reconciler import Reconciler
from frazil_cloud.resource import Known, Resource
from frazil_cloud.snowflake.client import administrator
from frazil_cloud.snowflake.objects import objects as snowflake
from frazil_cloud.snowflake.removal import former as snowflake_had
from frazil_cloud.spec.deployment import DeploymentSpec

Objects = Callable[[DeploymentSpec, Clouds], list[Resource]]
"""The objects of one cloud; asks nobody anything."""

OBJECTS: Mapping[str, Objects] = {"aws": aws, "confluent": confluent, "snowflake": snowflake}
"""By the first part of their addresses."""

FORMER: Mapping[str, Callable[[DeploymentSpec, Clouds, Known], list[Resource]]] = {
    "aws": aws_had, "confluent": confluent_had, "snowflake": snowflake_had,
}  # fmt: skip
"""What finds objects that were taken out of a deployment."""


def open_clouds(spec: DeploymentSpec, settings: Settings, *, adopts: bool = False) -> Clouds:
    """The clients of who makes a deployment; each asks nobody before it is used.

    Raises:
        ConfigureError: The extra `cloud` is not installed.
    """
    CLOUD.require()
    amazon = Aws(settings.with_changes(aws={"region": spec.region}).aws)
    secrets = SecretsManager(amazon)
    snowflake = administrator(settings, secrets)
    return Clouds(amazon, Confluent(settings.confluent), snowflake, secrets, adopts)


def reconciler_of(
    spec: DeploymentSpec,
    settings: Settings,
    *,
    removes_data: bool = False,
    adopts: bool = False,
    patience: float = 1800.0,
    pause: float = 5.0,
    hear: Hear = log_waiting,
) -> Reconciler:
    """The reconciler that makes, proves and removes all objects of a deployment; it asks no cloud yet.

    Args:
        spec: What the user wrote.
        settings: Who makes it.
        removes_data: Whether what was taken out and holds data is removed, too.
        adopts: Whether an environment of its name that bears no mark is taken over.
        patience: Seconds that one object may take.
        pause: Longest time between two looks at one object, in seconds.
        hear: Hears what is waited for.
    """
    clouds = open_clouds(spec, settings, adopts=adopts)
    resources = [resource for objects in OBJECTS.values() for resource in objects(spec, clouds)]

    def former(known: Known) -> list[Resource]:
        return [resource for had in FORMER.values() for resource in had(spec, clouds, known)]

    return Reconciler(
        resources, former=former, removes_data=removes_data, patience=patience, pause=pause, hear=hear
    )  # fmt: skip
