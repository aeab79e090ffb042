"""A repository that `frazil init` makes: its README's commands, run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import requests
from streamlit.testing.v1 import AppTest

from frazil.settings.profile import Settings
from kit.runs.shell import Command
from kit.runs.waiting import PATIENCE, wait_for
from kit.stack.dagster_servers import free_port, serving


def show_orders() -> None:
    from frazil.settings.profile import Settings
    from frazil_dashboard.pages import load_pages
    from frazil_dashboard.show import show_page

    show_page(load_pages(Settings.load())["shop"])


@pytest.mark.nightly
def test_the_commands_of_its_readme_work_as_they_stand(
    stack: Settings, frazil: Command, tmp_path: Path
) -> None:
    frazil("init", str(tmp_path / "ours"))
    blocks = re.findall(r"```sh\n(.*?)```", (tmp_path / "ours/README.md").read_text(), re.DOTALL)
    (block,) = (block for block in blocks if "frazil land" in block)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    done = subprocess.run(
        ["bash", "-ec", block], cwd=tmp_path / "ours", env={**os.environ, "PATH": path},
        capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "100 orders to orders" in done.stdout
    assert "local.orders" in done.stdout
    assert "paid" in done.stdout

    page = AppTest.from_function(show_orders, default_timeout=PATIENCE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FRAZIL_PIPELINES", str(tmp_path / "ours" / "pipelines"))
        page.run()

    assert not page.exception
    assert [metric.value for metric in page.metric] == ["100"]
    assert page.dataframe[0].value["id"].to_list() == list(range(99, -1, -1))


@pytest.mark.nightly
def test_dg_dev_shows_its_topic(
    stack: Settings, frazil: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, home, port = tmp_path / "ours", tmp_path / "dagster-home", free_port()
    frazil("init", str(project))
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    monkeypatch.setenv("FRAZIL_PIPELINES", str(project / "pipelines"))

    with serving(["dg", "dev"], home, port, project):
        wait_for(lambda: ["kafka", "orders"] in assets_at(port))


def assets_at(port: int) -> list[list[str]]:
    query = {"query": "{ assetNodes { assetKey { path } } }"}
    answer = requests.post(f"http://127.0.0.1:{port}/graphql", json=query, timeout=PATIENCE).json()
    return [node["assetKey"]["path"] for node in answer["data"]["assetNodes"]]
