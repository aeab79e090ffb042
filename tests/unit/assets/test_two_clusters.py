"""Several connections in one set of definitions: their assets, checks, jobs and sensors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from frazil.definitions import defs
from frazil.errors import PartDownError
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from frazil.upkeep.kinds import KINDS
from kit.graph.checkout import edges
from kit.stack.clusters import EU, Lake, lake_in, write_clusters
from resources.connections import FrazilConnections, spark_resource

SCHEMA = Schema(NestedField(1, "id", LongType(), required=False))
HERE, THERE = TableSpec(topic="orders"), TableSpec(topic="orders", connection=EU)


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lake]:
    """Two clusters of which only the named one has a table so far."""
    monkeypatch.setenv("FRAZIL_PIPELINES", str(write_clusters(tmp_path / "teams")))
    monkeypatch.setenv("FRAZIL_CONNECTIONS", json.dumps({EU: {}}))
    with lake_in(tmp_path / "lake") as lake:
        lake.of(THERE).catalog.create_namespace("orders_eu")
        lake.of(THERE).catalog.create_table("orders_eu.orders", SCHEMA)
        monkeypatch.setattr(FrazilConnections, "connections", lake)
        yield lake


def tick(name: str, instance: dg.DagsterInstance) -> str:
    graph, frazil = defs(), FrazilConnections(spark=spark_resource(Settings.load()))
    with dg.build_sensor_context(instance=instance, resources={"frazil": frazil}) as context:
        return str(graph.resolve_sensor_def(name).evaluate_tick(context).skip_message)


def test_assets_are_told_apart_by_the_connection(lake: Lake) -> None:
    graph = defs()

    dg.Definitions.validate_loadable(graph)
    assert edges(graph) == {
        "kafka/orders": [],
        "iceberg/local/orders": ["kafka/orders"],
        "iceberg/local/large": ["iceberg/local/orders"],
        f"kafka/{EU}/orders": [],
        "iceberg/orders_eu/orders": [f"kafka/{EU}/orders"],
        "iceberg/orders_eu/large": ["iceberg/orders_eu/orders"],
    }


def test_each_check_looks_into_the_catalog_of_its_table(lake: Lake, instance: dg.DagsterInstance) -> None:
    tables = (dg.AssetKey(["iceberg", namespace, "orders"]) for namespace in ("local", "orders_eu"))
    keys = [dg.AssetCheckKey(table, "file_health") for table in tables]
    job = dg.define_asset_job("health", dg.AssetSelection.checks(*keys))
    graph = dg.Definitions.merge(defs(), dg.Definitions(jobs=[job]))

    run = graph.resolve_job_def("health").execute_in_process(instance=instance, raise_on_error=False)

    passed = {e.asset_key.path[1]: e.passed for e in run.get_asset_check_evaluations()}
    assert passed == {"local": False, "orders_eu": True}, "only the named connection has the table"


def test_the_upkeep_sensor_looks_at_all_tables(lake: Lake, instance: dg.DagsterInstance) -> None:
    message = tick("upkeep", instance)

    assert "Tables looked at: 1; changed: 1" in message
    assert "not there yet: local.orders, local.large, orders_eu.large" in message


def test_a_catalog_that_is_down_does_not_hide_the_tables_of_another(
    lake: Lake, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lake, "catalog", Down())

    assert "Tables looked at: 1" in tick("upkeep", instance)


def test_an_upkeep_job_by_hand_works_on_the_tables_of_each_connection(
    lake: Lake, instance: dg.DagsterInstance
) -> None:
    lake.catalog.create_namespace("local")
    lake.catalog.create_table("local.orders", SCHEMA)

    def by_hand(*tables: str, fails: bool = False) -> dg.ExecuteInProcessResult:
        config = {"ops": {KINDS["expiry"].step: {"config": {"tables": [*tables]}}}}
        job = defs().resolve_job_def("expiry")
        return job.execute_in_process(instance=instance, run_config=config, raise_on_error=not fails)

    unknown = by_hand("local.ordrs", fails=True)
    (failure,) = (e for e in unknown.all_events if e.is_step_failure)
    assert "`frazil tables` lists all of them." in str(failure.event_specific_data)

    run = by_hand("local.orders", "orders_eu.orders")

    events = run.filter_events(lambda event: event.event_type_value == "ASSET_OBSERVATION")
    seen = {event.asset_key.path[1] for event in events if event.asset_key}
    assert seen == {"local", "orders_eu"}


def test_each_cluster_that_does_not_answer_is_told(lake: Lake, instance: dg.DagsterInstance) -> None:
    message = tick("arrivals", instance)

    assert "Where: local" in message
    assert f"Where: {EU}" in message


class Down:
    """A catalog that does not answer."""

    def close(self) -> None: ...

    def __getattr__(self, name: str) -> object:
        raise PartDownError("The catalog does not answer.")
