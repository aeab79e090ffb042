"""Two connections side by side in one process: the REST catalog and Glue, each with a session of Spark."""

from __future__ import annotations

import json
from pathlib import Path

import dagster as dg
import pytest
from pyiceberg.catalog import Catalog

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.definitions import defs
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from kit.graph.graphs import materialized
from kit.records.producing import BESIDE
from kit.records.topics import Topic, create_topic
from kit.runs.shell import Command
from kit.stack.clusters import write_clusters
from resources.connections import FrazilConnections, spark_resource

ROWS = 10


@pytest.fixture
def topic(
    connections: Connections, fresh_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Topic:
    """A topic that is landed into two catalogs: by the profile's own settings, and by a connection."""
    folder = write_clusters(tmp_path / "teams", fresh_name, fresh_name, "quantity")
    monkeypatch.setenv("FRAZIL_PIPELINES", str(folder))
    monkeypatch.setenv("FRAZIL_CONNECTIONS", json.dumps({fresh_name: {"catalog": "glue"}}))
    create_topic(connections.admin, fresh_name, 1, {})
    topic = Topic(fresh_name, connections, TableSpec(topic=fresh_name))
    topic.trades(ROWS)
    return topic


@pytest.fixture
def glue(connections: Connections) -> Catalog:
    """Glue as the owner of tables."""
    return Clients(connections.settings.with_changes(catalog="glue")).catalog


def rows(catalog: Catalog, *name: str) -> int:
    return catalog.load_table(name).scan().to_arrow().num_rows


def test_one_command_lands_into_both_catalogs(
    topic: Topic, glue: Catalog, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    frazil, rest = Command(monkeypatch, capsys), topic.connections.catalog

    landed, derived = frazil("land", "--all", "--json"), frazil("derive", "--all", "--json")

    here, there = f"local.{topic.name}", f"{topic.name}.{topic.name}"
    assert (landed.code, derived.code) == (0, 0), landed.err + derived.err
    assert {report["table"]: report["records"] for report in landed.document} == {here: ROWS, there: ROWS}
    assert {report["table"]: report["rows"] for report in derived.document} == {
        f"{here}_large": ROWS, f"{there}_large": ROWS,
    }  # fmt: skip
    assert rows(rest, "local", topic.name) == rows(glue, topic.name, f"{topic.name}_large") == ROWS
    assert not rest.table_exists((topic.name, topic.name))
    assert not glue.table_exists(("local", topic.name))
    assert {row["table"]: row["state"] for row in frazil("lag", "--json").document} == {
        here: "current", there: "current",
    }  # fmt: skip
    assert frazil("check", "--all", "--json").code == 0


@pytest.mark.nightly
def test_one_run_of_dagster_lands_into_both_catalogs(
    topic: Topic, glue: Catalog, instance: dg.DagsterInstance
) -> None:
    job = defs().resolve_implicit_global_asset_job_def()

    run = job.execute_in_process(instance=instance)

    metadata = materialized(run)
    assert run.success
    assert metadata[f"kafka/{topic.name}"]["end_offsets"] == ROWS + BESIDE
    assert metadata[f"kafka/{topic.name}/{topic.name}"]["end_offsets"] == ROWS + BESIDE
    assert metadata[f"iceberg/local/{topic.name}"]["rows_landed"] == ROWS
    assert metadata[f"iceberg/{topic.name}/{topic.name}"]["rows_landed"] == ROWS
    assert rows(topic.connections.catalog, "local", f"{topic.name}_large") == ROWS
    assert rows(glue, topic.name, f"{topic.name}_large") == ROWS


def test_the_arrivals_sensor_asks_for_one_run_for_both(topic: Topic, instance: dg.DagsterInstance) -> None:
    graph, frazil = defs(), FrazilConnections(spark=spark_resource(Settings.load()))
    with dg.build_sensor_context(instance=instance, resources={"frazil": frazil}) as context:
        (request,) = graph.resolve_sensor_def("arrivals").evaluate_tick(context).run_requests or ()

    assert {key.to_user_string() for key in request.asset_selection or ()} == {
        f"iceberg/local/{topic.name}", f"iceberg/{topic.name}/{topic.name}",
    }  # fmt: skip
