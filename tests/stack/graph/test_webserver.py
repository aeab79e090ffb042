"""Dagster's own servers on the checkout's workspace.yaml: who may start a run in the browser, who not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import requests

from kit.graph.graphs import Graph, MakeGraph, all_paths
from kit.runs.waiting import PATIENCE, wait_for
from kit.stack.dagster_servers import free_port, serving

# Without a queue, for no daemon runs here that would empty it.
INSTANCE = """\
telemetry: {enabled: false}
run_coordinator: {module: dagster.core.run_coordinator, class: DefaultRunCoordinator}
"""

LAUNCH = """
mutation ($how: ExecutionParams!) {
  launchPipelineExecution(executionParams: $how) {
    __typename
    ... on LaunchRunSuccess { run { runId } }
    ... on PythonError { message }
  }
}
"""
SHOWN = "query { assetNodes { assetKey { path } } }"
START = "mutation ($which: SensorSelector!) { startSensor(sensorSelector: $which) { __typename } }"
WIPE = """
mutation ($ranges: [PartitionsByAssetSelector!]!) {
  wipeAssets(assetPartitionRanges: $ranges) { __typename }
}
"""
STATUS = "query ($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"

LOCATION = {"repositoryLocationName": "frazil", "repositoryName": "__repository__"}

Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def graph(make_graph: MakeGraph, instance: dg.DagsterInstance) -> Graph:
    """A topic with three trades in it, to be shown in Glue only."""
    graph = make_graph({"publish": ["glue"]})
    graph.run(instance, [graph.things.kafka_path])
    graph.topics[0].trades(3)
    return graph


@pytest.fixture
def ask(graph: Graph, tmp_path: Path) -> Iterator[Ask]:
    """Asks a running webserver by GraphQL."""
    with asked(tmp_path) as ask:
        yield ask


@contextmanager
def asked(folder: Path, *options: str) -> Iterator[Ask]:
    """What asks a webserver, which runs that long."""
    home = folder / "dagster-home"
    home.mkdir()
    (home / "dagster.yaml").write_text(INSTANCE)
    port = free_port()

    def ask(query: str, **variables: Any) -> dict[str, Any]:
        answer = requests.post(
            f"http://127.0.0.1:{port}/graphql",
            json={"query": query, "variables": variables},
            timeout=PATIENCE,
        ).json()
        assert "errors" not in answer, answer
        data: dict[str, Any] = answer["data"]
        return data

    with serving(["dagster-webserver", *options], home, port):
        yield ask


def launched(ask: Ask, paths: list[tuple[str, ...]]) -> dict[str, Any]:
    """What becomes of a run of some assets that is asked for."""
    selector = {**LOCATION, "pipelineName": "__ASSET_JOB", "assetSelection": [{"path": [*p]} for p in paths]}
    answer = ask(LAUNCH, how={"selector": selector, "runConfigData": {}})
    became: dict[str, Any] = answer["launchPipelineExecution"]
    return became


@pytest.mark.nightly
def test_a_run_from_the_browser_lands_and_shows_a_table(ask: Ask, graph: Graph) -> None:
    def status(run_id: str) -> str:
        return str(ask(STATUS, id=run_id)["runOrError"]["status"])

    became = launched(ask, all_paths(graph.things)[:3])
    assert became["__typename"] == "LaunchRunSuccess", became
    run_id: str = became["run"]["runId"]
    wait_for(lambda: status(run_id) in ("SUCCESS", "FAILURE"))

    assert status(run_id) == "SUCCESS"
    assert len(graph.topics[0].rows()) == 3


@pytest.mark.nightly
def test_a_webserver_that_is_read_only_shows_the_assets_and_starts_nothing(
    graph: Graph, tmp_path: Path
) -> None:
    selection = [{"path": [*graph.things.iceberg_path]}]

    with asked(tmp_path, "--read-only") as ask:
        shown = ask(SHOWN)["assetNodes"]
        refused = [
            launched(ask, all_paths(graph.things)[:3]),
            ask(START, which={**LOCATION, "sensorName": "arrivals"})["startSensor"],
            ask(WIPE, ranges=[{"assetKey": each} for each in selection])["wipeAssets"],
        ]

    assert selection[0] in [each["assetKey"] for each in shown]
    assert [each["__typename"] for each in refused] == ["UnauthorizedError"] * 3
    assert not graph.topics[0].connections.catalog.table_exists(graph.things.table.identifier)
