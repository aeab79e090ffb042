"""The composition root: everything that Dagster runs. Loading it asks no server anything."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from assets.checks.attention import KEY as LATE_AND_BROKEN
from assets.checks.attention import attention_asset
from assets.checks.comparisons import check_keys
from assets.checks.doctor import access_checks
from assets.component import LOADED, Loaded, folder_definitions
from assets.deployments.homes import at_home
from assets.deployments.objects import DeploymentAssets
from assets.deployments.rotation import rotation_job, rotation_schedule
from assets.derived import DerivedTable
from assets.description import PipelineTable, TopicTable
from assets.mistakes import broken_definitions
from assets.upkeep import upkeep_jobs
from frazil.checks.run import VERIFIED
from frazil.derive.tables import load_tables
from frazil.graph import Asset, AssetGraph
from frazil.pipelines.folder import Pipelines, pipeline_folders
from frazil.process import look_as_python_does, look_rarely, raise_soft_limit
from frazil.settings.profile import Settings
from frazil_cloud.spec.folders import Deployments, load_deployments
from resources.aws import aws_resources
from resources.connections import FrazilConnections, spark_resource
from resources.snowflake import snowflake_resources
from sensors.alarms import alarms_sensor
from sensors.arrivals import arrivals_sensor, publishing_sensor
from sensors.deployments.drift import drift_sensor, watched_drift
from sensors.deployments.rotation import rotation_sensor
from sensors.in_step import answering, in_step_sensor
from sensors.upkeep import upkeep_sensor

# Dagster 1.13 gives these to itself: for each asset check of a component, for `--select "*"`, and for
# a sensor whose jobs it binds to resources.
for argument in ("execution_type", "include_sources", "owners"):
    warnings.filterwarnings("ignore", f"Parameter `{argument}`", dg.BetaWarning)


@dg.definitions
def defs() -> dg.Definitions:
    """The pipelines of the profile in force, what they need, and what watches them.

    A pipeline or a query that can't be understood is told before Dagster's component loader would: by an
    asset that stands for the pipeline.
    """
    look_rarely()  # Dagster starts a process for each run, and all of them load the definitions
    raise_soft_limit()
    try:
        return _definitions()
    finally:
        look_as_python_does()  # the one that serves the code goes on for ever


def _definitions() -> dg.Definitions:
    settings = Settings.load()
    tables = load_tables(settings)
    LOADED.set(Loaded(settings, tables.columns, tables.fields))
    folders, unloaded = folder_definitions(pipeline_folders(settings), tables.pipelines.unused)
    pipelines = tables.pipelines.without(unloaded)
    deployments = _deployments(settings, pipelines)
    if settings.strict:
        pipelines.all(), deployments.all()
    made, _ = folder_definitions([each.folder for each in deployments.sound], ())
    broken = broken_definitions([*pipelines.broken, *deployments.broken])
    around = _around(pipelines, deployments, settings)
    return at_home(dg.Definitions.merge(*folders, *made, broken, around), deployments, pipelines, settings)


def graph() -> AssetGraph:
    """The same without Dagster: what `frazil graph` draws."""
    return graph_of(defs())


def graph_of(definitions: dg.Definitions) -> AssetGraph:
    """Every asset of the definitions but the one that watches them, and what it is made from."""
    graph = definitions.resolve_asset_graph()
    nodes = (graph.get(key) for key in sorted(graph.get_all_asset_keys() - {LATE_AND_BROKEN}))
    return AssetGraph(
        tuple(
            Asset(
                path=tuple(node.key.path),
                kind=node.key.path[0],
                group=node.group_name or "default",
                upstream=tuple(tuple(key.path) for key in sorted(node.parent_keys)),
            )
            for node in nodes
        )
    )


def _deployments(settings: Settings, pipelines: Pipelines) -> Deployments:
    """The deployments that the profile asks for. Others are not loaded, and are not in the graph."""
    return load_deployments(settings, pipelines.names) if settings.deployments else Deployments()


def _around(pipelines: Pipelines, deployments: Deployments, settings: Settings) -> dg.Definitions:
    """Resources, and the sensors and jobs of all tables."""
    topics = [TopicTable(spec, settings) for p in pipelines.sound for spec in p.tables]
    derived = [DerivedTable(spec, settings) for p in pipelines.sound for spec in p.derived]
    tables: list[PipelineTable] = [*topics, *derived]
    upkeep, access = upkeep_jobs(tables) if tables else [], access_checks(tables)
    asked = {key.name: key for check in access for key in check.check_keys}
    made = [DeploymentAssets(each, settings) for each in deployments.sound]
    rotations = [rotation_job(each) for each in made]
    return dg.Definitions(
        assets=[attention_asset()],
        resources=_resources(settings),
        sensors=[
            *_watches(topics, derived, upkeep, asked, settings),
            *([drift_sensor(made), rotation_sensor(made, rotations)] if made else []),
            publishing_sensor(),
            alarms_sensor(tables, settings, pipelines, asked.values(), watched_drift(made)),
        ],
        asset_checks=access,
        jobs=[*_check_jobs(topics, derived, asked), *upkeep, *rotations],
        schedules=[rotation_schedule(each, job) for each, job in zip(made, rotations, strict=True)],
        # A process per step would pay three to five seconds of imports for each.
        executor=dg.in_process_executor,
    )


def _resources(settings: Settings) -> dict[str, Any]:
    spark = spark_resource(settings)
    own = {"frazil": FrazilConnections(spark=spark), "spark": spark}
    return {**own, **aws_resources(settings), **snowflake_resources(settings)}


def _watches(
    topics: Sequence[TopicTable],
    derived: Sequence[DerivedTable],
    upkeep: Sequence[dg.JobDefinition],
    asked: Mapping[str, dg.AssetCheckKey],
    settings: Settings,
) -> list[dg.SensorDefinition]:
    """The sensors that look at tables: none where there are no tables."""
    tables: list[PipelineTable] = [*topics, *derived]
    landed = [table for table in topics if not table.spec.is_read_only]
    watches = [arrivals_sensor(landed, settings), upkeep_sensor(tables, upkeep)] if tables else []
    return watches + ([in_step_sensor(tables, answering(asked))] if any(t.targets for t in tables) else [])


def _check_jobs(
    topics: Sequence[TopicTable], derived: Sequence[DerivedTable], asked: Mapping[str, dg.AssetCheckKey]
) -> Iterator[Any]:
    """The jobs of checks that are run by hand or by a schedule of one's own."""
    deep = _deep(topics)
    yield from _checking("count_every_offset", [key for key in deep if key.name != VERIFIED])
    yield from _checking("verify_every_record", [key for key in deep if key.name == VERIFIED])
    yield from _checking("derive_again_and_compare", _deep(derived))
    yield from _checking("doctor", [*asked.values()])


def _deep(tables: Sequence[PipelineTable]) -> list[dg.AssetCheckKey]:
    """The checks that read the data."""
    return [key for table in tables for key in check_keys(table, deep=True)]


def _checking(name: str, keys: Sequence[dg.AssetCheckKey]) -> Iterator[Any]:
    """A job of some checks, where there are any."""
    if keys:
        yield dg.define_asset_job(name, dg.AssetSelection.checks(*keys))
