"""One look of a sensor at each deployment: what can't be looked at is said, and hinders no other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from assets.deployments.objects import DeploymentAssets
from frazil.errors import FrazilError

T = TypeVar("T")

_PATIENCE = 20.0  # seconds: Dagster ends a tick after a minute


def looked_at(
    deployments: Sequence[DeploymentAssets], look: Callable[[DeploymentAssets, float], T], remarks: list[str]
) -> Iterator[tuple[DeploymentAssets, T]]:
    """Each deployment with what is seen of it.

    Args:
        look: Asks the clouds, within the given number of seconds.
        remarks: Gets a sentence for each deployment that can't be looked at.
    """
    for made in deployments:
        try:
            seen = look(made, _PATIENCE)
        except FrazilError as e:
            remarks.append(f"{made.spec.name} can't be looked at: {e.what}")
            continue
        yield made, seen
