"""Folders of deployments: each a defs.yaml, read once for Dagster and for the command line."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from frazil.errors import SpecError, UsageError, explain
from frazil.pipelines.attributes import FILE, attributes_of, component_of, refused
from frazil.pipelines.folder import Broken, folders_in, folders_with_file
from frazil.pipelines.places import read_documents
from frazil.settings.profile import Settings
from frazil_cloud.spec.deployment import DeploymentSpec

COMPONENT = "Deployment"
"""The component that such a file names."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """One folder, as its defs.yaml tells it."""

    spec: DeploymentSpec
    folder: Path
    line: int = 1

    @property
    def file(self) -> Path:
        """What the user wrote."""
        return self.folder / FILE


@dataclass(frozen=True, slots=True)
class Deployments:
    """The deployments that can be used, and those that can't."""

    sound: tuple[Deployment, ...] = ()
    broken: tuple[Broken, ...] = ()

    def all(self) -> tuple[Deployment, ...]:
        """Every deployment; the first mistake where there is any."""
        for broken in self.broken:
            raise broken.error
        return self.sound

    def named(self, name: str = "") -> Deployment:
        """The one of that name; without a name the only one.

        Raises:
            SpecError: It is there, and can't be understood.
            UsageError: There is none, or there are several and none was named.
        """
        known = {each.spec.name: each for each in self.sound}
        if not name and len(known) == 1:
            return next(iter(known.values()))
        if name in known:
            return known[name]
        for broken in self.broken:
            if name in ("", broken.name):
                raise broken.error
        near = get_close_matches(name, known, n=1)
        raise UsageError(
            f"There is no deployment {name}." if name else "Several deployments are known.",
            todo=f"Did you mean {near[0]}?" if near else f"Known are {', '.join(known) or 'none'}.",
        )


def load_deployments(settings: Settings, pipelines: Collection[str]) -> Deployments:
    """The deployments of `settings.deployments`, by default those that come with Frazil.

    Args:
        settings: Those of the profile in force.
        pipelines: The names that they may say in `pipelines`.

    Raises:
        SpecError: There is no such folder.
    """
    sound: dict[str, Deployment] = {}
    broken: list[Broken] = []
    for folder in _folders(settings):
        try:
            for deployment in _read(folder, pipelines):
                _refuse_equal(deployment, sound)
                sound[deployment.spec.name] = deployment
        except Exception as e:  # noqa: BLE001 - one file must not end the others, whatever is in it
            broken.append(Broken(folder.name, folder, explain(e), "deployments"))
    return Deployments(tuple(sound.values()), tuple(broken))


def _folders(settings: Settings) -> Iterator[Path]:
    for root in folders_in(settings.deployments, "deployments"):
        yield from folders_with_file(root, "deployments")


def _read(folder: Path, pipelines: Collection[str]) -> Iterator[Deployment]:
    for document in read_documents(folder / FILE):
        if component_of(document, (COMPONENT,)):
            spec = attributes_of(document, DeploymentSpec)
            if mistakes := [
                (("attributes", "pipelines", i), _unknown(name, pipelines))
                for i, name in enumerate(spec.pipelines)
                if name not in pipelines
            ]:
                raise refused(document, mistakes)
            yield Deployment(spec, folder, document.line(["attributes"]))


def _unknown(name: str, pipelines: Collection[str]) -> str:
    near = get_close_matches(name, pipelines, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(pipelines) or 'none'}"
    return f"there is no pipeline {name!r}; {hint}"


def _refuse_equal(deployment: Deployment, others: dict[str, Deployment]) -> None:
    first = others.get(deployment.spec.name)
    if first:
        raise SpecError(
            f"{deployment.file}:{deployment.line}: there is another deployment {deployment.spec.name}"
            f" in {first.file}",
            todo="Give the newer of the two another name: one that is made would be made a second time.",
        )
