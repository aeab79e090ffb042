"""What marks the objects of a deployment at AWS as its own: a tag."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from frazil.errors import DifferentError
from frazil_cloud.spec.deployment import DeploymentSpec

ANOTHER_DEPLOYMENT = (
    "`frazil deploy delete` removes what was made of the deployment; then give it another name."
)
"""What to do where a name of somebody else's comes from that of the deployment."""

_KEY = "frazil"


def tags(spec: DeploymentSpec) -> dict[str, str]:
    """The tags of a deployment's objects."""
    return {_KEY: spec.name}


def own_tags(spec: DeploymentSpec, existing: Mapping[str, str]) -> dict[str, str | None]:
    """The tags that the deployment gives, as they were found. Tags of others are left alone."""
    return {key: existing.get(key) for key in tags(spec)}


def tag_list(tags_given: Mapping[str, str]) -> list[dict[str, str]]:
    """Tags as most services of AWS take them."""
    return [{"Key": key, "Value": value} for key, value in tags_given.items()]


def tag_dict(tags_given: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Tags as most services of AWS tell them, by key."""
    return {each["Key"]: each["Value"] for each in tags_given}


def is_ours(spec: DeploymentSpec, existing: Mapping[str, str]) -> bool:
    """Whether these tags are those of the deployment."""
    return existing.get(_KEY) == spec.name


def foreign(spec: DeploymentSpec, what: str, todo: str, mark: str = f"tag {_KEY}") -> DifferentError:
    """The error for an object of a wanted name that is not the deployment's."""
    return DifferentError(
        f"{what} is there, and is not of this deployment: it lacks the {mark} = {spec.name}.",
        meaning="It was left as it is.",
        todo=f"If it is the deployment's own, give it the {mark} = {spec.name}: it goes on as it is. "
        f"Else: {todo}",
    )
