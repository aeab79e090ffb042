"""A pipeline of one's own and a Dagster instance in memory for each test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from frazil.connections import Connections
from kit.graph.graphs import Graph, MakeGraph, write_graph


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


@pytest.fixture
def make_graph(
    tmp_path: Path, connections: Connections, fresh_name: str, monkeypatch: pytest.MonkeyPatch
) -> MakeGraph:
    """A pipeline with a table for each set of settings given: `make_graph({}, {"publish": []})`.

    Tables made of others are named `derived=[{"table": "flags", "sql": "SELECT ... FROM {input}"}]`.
    """
    monkeypatch.setenv("FRAZIL_PIPELINES", "")

    def make(*tables: dict[str, Any], derived: Sequence[dict[str, Any]] = ()) -> Graph:
        named = [{"topic": f"{fresh_name}_{i}", **t} for i, t in enumerate(tables or ({},))]
        made = [
            {**t, "table": f"{fresh_name}_{t['table']}", "sql": t["sql"].format(input=f"{fresh_name}_0")}
            for t in derived
        ]
        return write_graph(tmp_path, connections, *named, derived=made)

    return make
