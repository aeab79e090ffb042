"""The objects of a deployment, put together from the three clouds."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from frazil.cloud.clouds import Clouds
from frazil.cloud.reconciler import Reconciler
from frazil.cloud.resource import Resource
from frazil.spec.deployment import DeploymentSpec

Objects = Callable[[DeploymentSpec, Clouds], list[Resource]]
"""The objects of one cloud; asks nobody anything."""

OBJECTS: Mapping[str, Objects] = {}
"""By the first part of their addresses."""


def reconciler_of(spec: DeploymentSpec, clouds: Clouds, *, patience: float = 1800.0) -> Reconciler:
    """Whoever makes, proves and removes all objects of a deployment.

    Args:
        spec: What the user wrote.
        clouds: The clients.
        patience: Seconds that one object may take.
    """
    found = [resource for objects in OBJECTS.values() for resource in objects(spec, clouds)]
    return Reconciler(found, patience=patience)
