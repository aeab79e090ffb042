"""`frazil metrics` on real tables: printed, and served to a Prometheus."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest
import requests

from frazil.landing.land import land
from frazil.telemetry.metrics import OF_COST
from kit.records.topics import Topic
from kit.runs.shell import FRAZIL, Command


@pytest.fixture
def served(topic: Topic) -> Iterator[str]:
    """The address at which the metrics are served."""
    server = subprocess.Popen(
        [FRAZIL, "metrics", "--port", "0"], env=dict(os.environ), stderr=subprocess.PIPE, text=True
    )
    assert server.stderr
    with server.stderr:
        yield server.stderr.readline().strip()
        server.terminate()
        server.wait()


@pytest.mark.plain(why="numbers are exact")
def test_the_metrics_are_those_that_frazil_tables_tells(frazil: Command, topic: Topic, name: str) -> None:
    land(topic.spec, topic.connections)
    topic.trades(3, partition=1)

    document = frazil("metrics", "--json").document
    (state,) = frazil("tables", "--json").document

    numbers = {row["metric"]: row["value"] for row in document if row.get("table") == name}
    assert (numbers["frazil_table_lag"], numbers["frazil_table_landed_records"]) == (3, 10)
    assert numbers["frazil_table_bytes"] == state["bytes"]
    assert numbers["frazil_table_last_commit_timestamp_seconds"] == state["landed_at"]
    assert [row["value"] for row in document if row["metric"] == "frazil_up"] == [1.0, 1.0, 1.0]


def test_what_tables_cost_is_among_them_where_it_is_asked_for(
    frazil: Command, topic: Topic, name: str
) -> None:
    land(topic.spec, topic.connections)

    rows = frazil("metrics", "--cost", "1h", "--json").document
    cost = frazil("cost", name, "--since", "1h", "--json").document["total"]
    usual = frazil("metrics", "--json").document

    values = {row["metric"]: row["value"] for row in rows if row.get("table") == name}
    assert values["frazil_table_stored_bytes"] == cost["live_bytes"] + cost["history_bytes"]
    assert values["frazil_table_task_seconds"] == pytest.approx(cost["task_seconds"])
    assert [row["currency"] for row in rows if row["metric"] == "frazil_table_cost"] == ["USD"]
    assert values.keys() - {row["metric"] for row in usual} == set(OF_COST)


def test_how_fresh_each_layer_is_is_among_them_where_it_is_asked_for(
    frazil: Command, topic: Topic, name: str
) -> None:
    land(topic.spec, topic.connections)

    rows = frazil("metrics", "--freshness", "1h", "--json").document
    layers = frazil("freshness", name, "--since", "1h", "--json").document

    own = (row for row in rows if "layer" in row)
    values = {(row["metric"].removeprefix("frazil_layer_"), row["layer"]): row["value"] for row in own}
    late = {row["layer"]: row["seconds"] for row in layers}
    assert (values["behind_seconds", "iceberg"], values["delay_seconds_gcount", "iceberg"]) == (0, 10)
    assert late["glue"] >= values["behind_seconds", "glue"] > 0


@pytest.mark.plain(why="numbers are exact")
def test_each_scrape_looks_anew(served: str, topic: Topic, name: str) -> None:
    before = requests.get(served, timeout=60).text
    land(topic.spec, topic.connections)
    after = requests.get(served, timeout=60).text

    assert served.startswith("http://127.0.0.1:")
    assert f'frazil_table_lag{{table="{name}"}} 10.0' in before
    assert f'frazil_table_lag{{table="{name}"}} 0.0' in after


@pytest.mark.nightly
def test_a_port_that_is_taken_is_named(frazil: Command, served: str) -> None:
    port = served.split(":")[2].split("/")[0]

    result = frazil("metrics", "--port", port)

    assert (result.code, result.is_clear) == (1, True)
    assert f"127.0.0.1:{port}" in result.err
