"""`frazil dashboard`: a page's numbers are those of the records that were produced."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import psutil
import pytest
import requests
import streamlit as st
from streamlit.testing.v1 import AppTest

from frazil.landing.land import land
from kit.records.topics import Topic
from kit.runs.shell import FRAZIL, Command, Shell
from kit.runs.waiting import wait_for
from kit.stack.standin import free_port

PAGE = """
title: Trades
choices:
  - {{name: least, from: 0, to: 9, value: 2}}
  - {{name: partition, sql: 'SELECT DISTINCT "$$partition" FROM {table} ORDER BY ALL'}}
charts:
  - {{title: Trades, kind: number, sql: 'SELECT count(*) FROM {table} WHERE quantity >= $least'}}
  - {{title: All, sql: 'SELECT quantity FROM {table} WHERE "$$partition" = $partition ORDER BY quantity'}}
"""


def show_one() -> None:
    from frazil.settings.profile import Settings
    from frazil_dashboard.pages import load_pages
    from frazil_dashboard.show import show_page

    show_page(load_pages(Settings.load())["one"])


def show_tables() -> None:
    from frazil_dashboard.show import show_health

    show_health()


def show_layers() -> None:
    from frazil_dashboard.show import show_layers

    show_layers()


def show_costs() -> None:
    from frazil_dashboard.show import show_costs

    show_costs()


ON_A_READY_SERVER = """
import json, sys
from frazil_dashboard.serving import get_ready
get_ready()
from streamlit.testing.v1 import AppTest
import streamlit.web.cli
before = set(sys.modules)
script = "from frazil_dashboard.show import show_health; show_health()"
page = AppTest.from_string(script, default_timeout=120).run()
late = {name.partition(".")[0] for name in set(sys.modules) - before}
print(json.dumps({"errors": len(page.error) + len(page.exception), "late": sorted(late)}))
"""
SLOW = {"altair", "boto3", "confluent_kafka", "duckdb", "numpy", "pandas", "pyiceberg", "sqlglot"}
"""Packages of which each takes a page a tenth of a second and more to import."""


@pytest.fixture(autouse=True)
def nothing_is_kept(without_components: None) -> None:
    """What pages of earlier tests have read, and keep for 15 seconds, is gone."""
    st.cache_data.clear()
    st.cache_resource.clear()


def shown(page: AppTest) -> str:
    """The first error, without the marks that keep it from being Markdown."""
    return str(page.error[0].value).replace("\\", "")


def page_of(script: object) -> AppTest:
    page: AppTest = AppTest.from_function(script, default_timeout=120)  # type: ignore[arg-type]
    return page


def test_a_page_shows_what_was_produced_as_it_is_and_as_it_was(shell: Shell, topic: Topic, name: str) -> None:
    (shell.pipelines / "one" / "dashboard.yaml").write_text(PAGE.format(table=name))
    before = land(topic.spec, topic.connections)
    topic.trades(5, partition=1)
    land(topic.spec, topic.connections)

    page = page_of(show_one).run()
    now = [metric.value for metric in page.metric]
    numbers = page.dataframe[0].value["quantity"].to_list()
    page.slider[0].set_value(9).run()
    fewer = [metric.value for metric in page.metric]
    page.selectbox[0].set_value(1).run()
    others = page.dataframe[0].value["quantity"].to_list()
    page.text_input[0].set_value(str(before.snapshot_id)).run()
    then = [metric.value for metric in page.metric]
    page.text_input[0].set_value("yesterday").run()

    assert (now, numbers, fewer, others) == (["13"], list(range(10)), ["6"], list(range(10, 15)))
    assert then == ["1"]
    assert "neither a snapshot's id nor a time" in shown(page)
    assert not page.exception


def test_the_first_page_says_how_each_table_stands(shell: Shell, topic: Topic, name: str) -> None:
    land(topic.spec, topic.connections)
    topic.trades(5)

    page = page_of(show_tables).run()

    rows = page.dataframe[0].value.to_dict("records")
    assert [(row["table"], row["rows"], row["lag"] > 0) for row in rows] == [(name, 10, True)]
    assert {metric.label: metric.value for metric in page.metric}["tables"] == "1"
    assert not page.error
    assert not page.exception


def test_the_address_names_a_table_and_its_page_shows_which_records_are_dead_letters(
    shell: Shell, topic: Topic, name: str
) -> None:
    spec = topic.spec.model_copy(update={"on_bad_record": "dead_letter"})
    shutil.rmtree(shell.pipelines / "one")
    shell.write({"topic": topic.name, "on_bad_record": "dead_letter"})
    topic.send([b"nobody can decode this"])
    land(spec, topic.connections)

    page = page_of(show_tables)
    page.query_params["table"] = f"{name}s"
    page.run()
    unknown = shown(page)
    page.query_params["table"] = name
    page.run()

    _, reasons, samples = (frame.value.to_dict("records") for frame in page.dataframe)
    (letter,) = samples
    assert f"no table {name}s here" in unknown
    assert page.query_params["table"] == name
    assert (page.selectbox[0].value, [row["records"] for row in reasons]) == (name, [1])
    assert (letter["begins"], letter["bytes"]) == ("nobody can decode this", 22)
    assert not page.error
    assert not page.exception


@pytest.mark.nightly
def test_the_first_page_waits_for_no_import(shell: Shell, topic: Topic) -> None:
    land(topic.spec, topic.connections)

    command = [sys.executable, "-c", ON_A_READY_SERVER]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ})

    document = json.loads(done.stdout.splitlines()[-1])
    assert document["errors"] == 0
    assert SLOW.isdisjoint(document["late"])


def test_each_layer_stands_beside_its_limit_and_upkeep_that_is_due(
    shell: Shell, topic: Topic, name: str
) -> None:
    spec = {"topic": topic.name, "freshness": "1h", "fresh_within": {"iceberg": 0.01, "glue": "1h"}}
    shutil.rmtree(shell.pipelines / "one")
    shell.write({**spec, "publish": ["glue"]})
    for _ in range(2):
        land(topic.spec, topic.connections)
        topic.trades(5, plain="the rate is exact")

    page = page_of(show_layers).run()

    layers, rates, due = (frame.value.to_dict("records") for frame in page.dataframe)
    assert [(row["layer"], row["warn (s)"], row["late"]) for row in layers] == [
        ("iceberg", 0.01, "yes"), ("glue", 3600, ""),
    ]  # fmt: skip
    assert {metric.label: metric.value for metric in page.metric} == {
        "late layers": "1", "upkeep that is due": "1",
    }  # fmt: skip
    assert [(row["table"], row["records a minute"]) for row in rates] == [(name, round(15 / 60, 1))]
    assert [row["upkeep"] for row in due] == ["compaction"]
    assert [caption.value for caption in page.caption] == ["There is nothing."]
    assert not page.exception


def test_what_a_table_costs_is_what_the_command_says(
    shell: Shell, frazil: Command, topic: Topic, name: str
) -> None:
    land(topic.spec, topic.connections)

    page = page_of(show_costs).run()
    costs = frazil("cost", name, "--by", "work", "--json").document

    tables, works, _ = (frame.value.to_dict("records") for frame in page.dataframe)
    assert [(row["table"], row["records"]) for row in tables] == [(name, 10)]
    landing = next(row for row in costs["rows"] if row["work"] == "landing")
    shown = next(row for row in works if row["work"] == "landing")
    assert (shown["writes"], shown["USD"]) == (landing["writes"], landing["cost"])
    assert "Not measured" in page.caption[-1].value
    assert not page.exception


def test_a_table_that_is_not_there_is_an_error_in_words(shell: Shell, topic: Topic, name: str) -> None:
    (shell.pipelines / "one" / "dashboard.yaml").write_text(PAGE.format(table=f"{name}s"))

    page = page_of(show_one).run()

    assert f"Did you mean {name}?" in shown(page)
    assert not page.exception


def test_the_command_serves_this_machine_alone_and_refuses_a_page_with_a_mistake(
    shell: Shell, frazil: Command, topic: Topic, name: str
) -> None:
    file = shell.pipelines / "one" / "dashboard.yaml"
    file.write_text(PAGE.format(table=name).replace("$least", "$lest"))
    refused = frazil("dashboard")
    file.write_text(PAGE.format(table=name))
    port = free_port()
    command = [FRAZIL, "dashboard", "--port", str(port), "--json"]
    environment = {**os.environ, "FRAZIL_PIPELINES": str(shell.pipelines)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as served:
        try:
            wait_for(lambda: health_of(port) == "ok")
            connections = psutil.Process(served.pid).net_connections("tcp")
        finally:
            served.kill()  # Streamlit hears no signal that comes as it starts

        assert served.stdout
        document = json.load(served.stdout)

    assert {each.laddr for each in connections if each.status == "LISTEN"} == {("127.0.0.1", port)}
    assert document == {"url": f"http://127.0.0.1:{port}", "pages": {"one": "Trades"}}
    assert refused.is_clear
    assert "did you mean $least?" in refused.err


def health_of(port: int) -> str | None:
    try:
        return requests.get(f"http://127.0.0.1:{port}/_stcore/health", timeout=5).text
    except requests.ConnectionError:
        return None
