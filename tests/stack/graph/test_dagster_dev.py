"""`dagster dev` on the checkout's workspace.yaml: nobody touches it, and records become rows."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from frazil.catalogs.glue_entries import read_glue
from kit.dagster_servers import free_port, serving
from kit.graphs import Graph, MakeGraph
from kit.waiting import wait_for


@pytest.fixture
def graph(make_graph: MakeGraph, instance: dg.DagsterInstance) -> Graph:
    """A topic with three trades in it, to be shown in Glue only."""
    graph = make_graph({"publish": ["glue"]})
    graph.run(instance, [graph.things.kafka_path])
    graph.topics[0].trades(3)
    return graph


def test_fresh_records_are_landed_and_shown_without_a_human(graph: Graph, tmp_path: Path) -> None:
    glue, names = graph.topics[0].connections.glue, graph.things
    home = tmp_path / "dagster-home"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")

    with serving(["dagster", "dev"], home, free_port()):
        wait_for(lambda: read_glue(glue, names), seconds=180)

    assert len(graph.topics[0].rows()) == 3
