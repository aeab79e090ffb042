"""What pipelines live in is upstream of their topics and tables."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import dagster as dg

from assets.deployments.objects import CLOUDS, DeploymentAssets
from frazil.pipelines.folder import Pipelines
from frazil.publishing.targets import targets_of
from frazil.settings.profile import Settings
from frazil.spec.names import AssetPath, things
from frazil.spec.table import AnyTable
from frazil_cloud.spec.folders import Deployments

_HOMES = {
    "kafka": ("confluent/topic/{topic}", "confluent/cluster"),
    "iceberg": ("aws/writer_role", "aws/bucket"),
    "glue": ("aws/glue",),
    "snowflake": ("snowflake/catalog_integration", "snowflake/volume", "snowflake/schema"),
}
"""By layer the objects that an asset of it may live in; those that need others stand before them."""


def at_home(
    definitions: dg.Definitions, deployments: Deployments, pipelines: Pipelines, settings: Settings
) -> dg.Definitions:
    """The same definitions, each topic and table of a deployed pipeline below what it lives in.

    What follows a table by automation does not wait for a deployment: it may have been made elsewhere.
    """
    homes: dict[dg.AssetKey, list[dg.AssetKey]] = {}
    for deployment in deployments.sound:
        made = DeploymentAssets(deployment, settings)
        for pipeline in pipelines.sound:
            if pipeline.name in deployment.spec.pipelines:
                for spec, _ in pipeline.every_table:
                    for key, home in _of(spec, made, settings):
                        homes.setdefault(key, []).append(home)
    if not homes:
        return definitions
    clouds = dg.AssetSelection.groups(*CLOUDS)

    def moved(spec: dg.AssetSpec) -> dg.AssetSpec:
        if spec.key not in homes:
            return spec
        below = spec.merge_attributes(deps=list(dict.fromkeys(homes[spec.key])))
        condition: Any = spec.automation_condition  # Dagster gives `ignore` to each kind of its own
        return below.replace_attributes(automation_condition=condition.ignore(clouds)) if condition else below

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.PreviewWarning)
        return definitions.map_asset_specs(func=moved)


def _of(
    spec: AnyTable, made: DeploymentAssets, settings: Settings
) -> Iterator[tuple[dg.AssetKey, dg.AssetKey]]:
    """Each asset of a table, and the object of the deployment that it lives in."""
    names = things(spec, settings)
    keys = {address: key for key, address in made.addresses.items()}
    paths: list[AssetPath] = [names.iceberg_path, *(target.path for target in targets_of(spec, settings))]
    for path in [*([names.kafka_path] if names.topic else []), *paths]:
        addresses = (address.format(topic=names.topic) for address in _HOMES.get(path[0], ()))
        home = next((keys[address] for address in addresses if address in keys), None)
        if home:
            yield dg.AssetKey(path), home
