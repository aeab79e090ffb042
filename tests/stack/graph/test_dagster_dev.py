"""`dagster dev` on the checkout's workspace.yaml: nobody touches it, and records become rows in few files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

import frazil
from frazil.derive.positions.ledger import DerivedLedger
from frazil.tables.catalogs.handle import TableHandle
from kit.graph.graphs import Graph, MakeGraph
from kit.readers.targets import read_glue
from kit.runs.waiting import PATIENCE, wait_for
from kit.stack.dagster_servers import free_port, serving
from kit.tables.foreign import file_count, foreign_table


@pytest.fixture
def graph(make_graph: MakeGraph, instance: dg.DagsterInstance) -> Graph:
    """A topic with three trades, to be shown in Glue, a table made of it, and one of four small files."""
    large = {"table": "large", "sql": "SELECT quantity FROM {input} WHERE quantity > 0", "publish": []}
    graph = make_graph({"publish": ["glue"]}, {"publish": []}, derived=[large])
    graph.run(instance, [graph.things.kafka_path])
    graph.topics[0].trades(3)
    foreign_table(graph.topics[1].connections.catalog, graph.topics[1].things.table)
    return graph


@pytest.mark.nightly
def test_records_are_landed_shown_and_derived_from_and_files_compacted_without_a_human(
    graph: Graph, tmp_path: Path
) -> None:
    connections, names = graph.topics[0].connections, graph.things
    crowded, derived = graph.topics[1].things.table, graph.made.table
    home = tmp_path / "dagster-home"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")

    with serving(["dagster", "dev"], home, free_port()):
        wait_for(lambda: read_glue(connections, names))
        wait_for(lambda: file_count(connections.catalog, crowded) == 1)
        wait_for(lambda: TableHandle(connections.catalog, derived).load_or_none())
        wait_for(lambda: DerivedLedger.newest(TableHandle(connections.catalog, derived).load().metadata))

    assert len(graph.topics[0].rows()) == 3
    rows = TableHandle(connections.catalog, derived).load().scan().to_arrow()["quantity"].to_pylist()
    assert sorted(rows) == [1, 2]


@pytest.mark.nightly
def test_a_code_server_of_its_own_loads_the_workspace_from_any_folder(tmp_path: Path) -> None:
    (tmp_path / "dagster.yaml").touch()
    program = str(Path(sys.executable).with_name("dagster"))
    workspace = str(Path(frazil.__file__).parents[2] / "workspace.yaml")
    environment = {**os.environ, "DAGSTER_HOME": str(tmp_path), "DAGSTER_DISABLE_TELEMETRY": "1"}

    validated = subprocess.run(
        [program, "definitions", "validate", "--load-with-grpc", "-w", workspace],
        env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip

    assert validated.returncode == 0, validated.stderr


@pytest.mark.nightly
def test_dagsters_own_command_finds_components_and_definitions() -> None:
    program = str(Path(sys.executable).with_name("dg"))

    checked = subprocess.run(
        [program, "check", "defs"],
        cwd=Path(frazil.__file__).parents[2], capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip

    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "All component YAML validated successfully." in checked.stdout + checked.stderr
