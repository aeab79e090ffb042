"""`dagster dev` on the checkout's workspace.yaml: nobody touches it, and records become rows in few files."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from frazil.catalogs.glue_entries import read_glue
from kit.dagster_servers import free_port, serving
from kit.foreign import file_count, foreign_table
from kit.graphs import Graph, MakeGraph
from kit.waiting import wait_for


@pytest.fixture
def graph(make_graph: MakeGraph, instance: dg.DagsterInstance) -> Graph:
    """A topic with three trades in it, to be shown in Glue only, and a table of four small files."""
    graph = make_graph({"publish": ["glue"]}, {"publish": []})
    graph.run(instance, [graph.things.kafka_path])
    graph.topics[0].trades(3)
    foreign_table(graph.topics[1].connections.catalog, graph.topics[1].things.table)
    return graph


def test_records_are_landed_and_shown_and_files_compacted_without_a_human(
    graph: Graph, tmp_path: Path
) -> None:
    connections, names = graph.topics[0].connections, graph.things
    crowded = graph.topics[1].things.table
    home = tmp_path / "dagster-home"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")

    with serving(["dagster", "dev"], home, free_port()):
        wait_for(lambda: read_glue(connections.glue, names), seconds=180)
        wait_for(lambda: file_count(connections.catalog, crowded) == 1, seconds=120)

    assert len(graph.topics[0].rows()) == 3
