"""The objects of a deployment as assets: materializing some makes sure of them and of all that they need."""

# No `from __future__ import annotations`: Dagster compares the types of arguments, not their names.
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import dagster as dg

from assets.outcome import engine_errors
from frazil.errors import ConfigureError
from frazil.settings.profile import Settings
from frazil.spec.names import AssetPath
from frazil_cloud.deployment import reconciler_of
from frazil_cloud.reconciler import Reconciler
from frazil_cloud.resource import Facts
from frazil_cloud.spec.deployment import DeploymentSpec
from frazil_cloud.spec.folders import Deployment

CLOUDS = ("aws", "confluent", "snowflake")
"""The groups of the assets, and the first parts of their keys."""

_ABOUT = """`{address}` of deployment `{name}`. Materializing it makes it where it is missing, and all \
that it needs; brings what differs to what the deployment says; and refuses what nobody can change."""


def path_of(spec: DeploymentSpec, address: str) -> AssetPath:
    """Key of the asset of an object: `aws/shop/bucket` of `aws/bucket`."""
    cloud, *thing = address.split("/")
    return (cloud, spec.name, *thing)


@dataclass(frozen=True)
class DeploymentAssets:
    """One deployment under one profile. Nobody is asked anything before something of it runs."""

    deployment: Deployment
    settings: Settings

    @property
    def spec(self) -> DeploymentSpec:
        """What the user wrote."""
        return self.deployment.spec

    @cached_property
    def reconciler(self) -> Reconciler:
        """Makes, proves and removes the objects."""
        return reconciler_of(self.spec, self.settings)

    @cached_property
    def addresses(self) -> Mapping[dg.AssetKey, str]:
        """All objects by the keys of their assets."""
        return {dg.AssetKey(path_of(self.spec, address)): address for address in self.reconciler.addresses}


class DeployConfig(dg.Config):
    """What somebody agreed to."""

    plan: str = ""  # the digest that `frazil deploy plan` shows; any other plan is refused


def deployment_objects(made: DeploymentAssets) -> dg.AssetsDefinition:
    """One step for all, so that objects are made side by side."""

    @dg.multi_asset(
        name=f"{made.spec.name}_objects",
        specs=[_spec(made, key, address) for key, address in made.addresses.items()],
        can_subset=True,
    )
    def objects(
        context: dg.AssetExecutionContext, config: DeployConfig
    ) -> Iterator[dg.MaterializeResult[Any]]:
        selected = context.selected_asset_keys
        chosen = {key: address for key, address in made.addresses.items() if key in selected}
        heard = Heard(context.log)
        try:
            with engine_errors():
                known = _applied(made.reconciler.part(chosen.values()), config.plan, heard)
        except dg.Failure:
            yield from _results(chosen, heard, {})
            raise
        yield from _results(chosen, heard, known)

    return objects


def _spec(made: DeploymentAssets, key: dg.AssetKey, address: str) -> dg.AssetSpec:
    place = dg.LocalFileCodeReference(
        file_path=str(made.deployment.file), line_number=made.deployment.line, label=made.spec.name
    )
    return dg.AssetSpec(
        key=key,
        deps=[dg.AssetKey(path_of(made.spec, need)) for need in made.reconciler.needs(address)],
        description=_ABOUT.format(address=address, name=made.spec.name),
        group_name=key.path[0],
        tags={"frazil/layer": key.path[0], "frazil/deployment": made.spec.name},
        kinds={key.path[0]},
        metadata={
            "address": address,
            "dagster/code_references": dg.CodeReferencesMetadataValue(code_references=[place]),
        },
    )


def _applied(reconciler: Reconciler, agreed: str, heard: "Heard") -> Mapping[str, Facts]:
    plan = reconciler.plan()
    if agreed and agreed != plan.digest:
        raise ConfigureError(
            f"Plan {agreed} is not the one of now, which is {plan.digest}.",
            where=str(plan),
            meaning="Nothing was done.",
            todo="Look at the plan of now, and start the run with its digest.",
        )
    return reconciler.apply(plan, heard)


class Heard:
    """Hears of objects what becomes of them, from several threads, and says it in the run's log."""

    def __init__(self, log: dg.DagsterLogManager) -> None:
        self._log, self._lock = log, Lock()
        self._begun: dict[str, float] = {}
        self.news: dict[str, list[str]] = {}
        self.seconds: dict[str, float] = {}

    def __call__(self, address: str, news: str) -> None:
        """Tells one news; the same one twice in a row is one."""
        with self._lock:
            begun = self._begun.setdefault(address, time.monotonic())
            self.seconds[address] = time.monotonic() - begun
            reports = self.news.setdefault(address, [])
            if reports[-1:] != [news]:
                reports.append(news)
                self._log.info("%s: %s, %.1f s", address, news, self.seconds[address])


def _results(
    chosen: Mapping[dg.AssetKey, str], heard: Heard, known: Mapping[str, Facts]
) -> Iterator[dg.MaterializeResult[Any]]:
    """Results of the objects that are ready, though others may have failed."""
    for key, address in chosen.items():
        if "ready" in heard.news.get(address, ()):
            did = ", ".join(heard.news[address][:-1]) or "nothing to do"
            facts = {name: _shown(value) for name, value in known.get(address, {}).items()}
            metadata = {**facts, "did": did, "seconds": round(heard.seconds[address], 1)}
            yield dg.MaterializeResult(asset_key=key, metadata=metadata)


def _shown(value: Any) -> Any:
    """A fact as Dagster shows it."""
    return value if isinstance(value, str | int | float | bool) else dg.MetadataValue.json(value)
