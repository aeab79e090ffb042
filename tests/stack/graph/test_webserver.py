"""Dagster's own servers on the checkout's workspace.yaml: a run that a person starts in the browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
STATUS = "query ($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"

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
    home = tmp_path / "dagster-home"
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

    with serving(["dagster-webserver"], home, port):
        yield ask


def launch(ask: Ask, paths: list[tuple[str, ...]]) -> str:
    """Starts a run of some assets; gives its id."""
    selector = {
        "repositoryLocationName": "frazil",
        "repositoryName": "__repository__",
        "pipelineName": "__ASSET_JOB",
        "assetSelection": [{"path": list(path)} for path in paths],
    }
    answer = ask(LAUNCH, how={"selector": selector, "runConfigData": {}})
    launched = answer["launchPipelineExecution"]
    assert launched["__typename"] == "LaunchRunSuccess", launched
    run_id: str = launched["run"]["runId"]
    return run_id


@pytest.mark.nightly
def test_a_run_from_the_browser_lands_and_shows_a_table(ask: Ask, graph: Graph) -> None:
    def status(run_id: str) -> str:
        return str(ask(STATUS, id=run_id)["runOrError"]["status"])

    run_id = launch(ask, all_paths(graph.things)[:3])
    wait_for(lambda: status(run_id) in ("SUCCESS", "FAILURE"))

    assert status(run_id) == "SUCCESS"
    assert len(graph.topics[0].rows()) == 3
