"""Trades go from the cluster to the Snowflake view, by commands, with the identities that were made."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from frazil.clients import Clients
from frazil.settings.profile import Settings
from frazil_local.home import Home
from frazil_local.parts import prepared_stack
from kit.clouds.three_clouds import write_deployment
from kit.runs.alone import alone
from kit.runs.shell import Command, Output
from kit.runs.waiting import wait_for
from kit.stack.shared_stack import free_offset

TRADES = int(os.environ.get("FRAZIL_TEST_TRADES", "2000"))
PARTS = ("kafka", "registry", "spark", "cloud-aws", "cloud-confluent", "cloud-snowflake")
LAB: dict[str, Any] = {
    "name": "lab",
    "pipelines": ["shop"],
    "confluent": {
        "topics": [{"name": "stock_trades"}],
        "connectors": [{"name": "SampleSource", "topic": "stock_trades"}],
    },
    "aws": {"bucket": "lab-bucket-4711"},
    "snowflake": {},
}
PIPELINE = {
    "type": "assets.topic_tables.TopicTables",
    "attributes": {
        "tables": [{"topic": "stock_trades", "metadata": "full", "publish": ["glue", "snowflake"]}]
    },
}
VIEW = "LAB_DATABASE.LAB_SCHEMA.STOCK_TRADES_WITHOUT_METADATA"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A stack with clouds, of which what this path needs is started."""
    home = Home(tmp_path_factory.mktemp("clouds") / "home")
    with alone(home.root):
        stack = prepared_stack(home, {}, free_offset(), clouds=True)
        stack.up(lambda *_: None, PARTS)
        knobs = {"more": {"trades": TRADES, "rate": 1e6}}
        confluent = Settings.of_profile(home.administrator).confluent.endpoint
        requests.post(f"{confluent}/_knobs", json=knobs, timeout=60).raise_for_status()
        yield home
        stack.down(lambda *_: None)


@pytest.fixture
def frazil(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """The command of whoever administers the clouds."""
    pipeline = tmp_path / "pipelines" / "shop" / "defs.yaml"
    pipeline.parent.mkdir(parents=True)
    pipeline.write_text(yaml.safe_dump(PIPELINE))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FRAZIL_PROFILE", str(home.administrator))
    monkeypatch.setenv("FRAZIL_PIPELINES", str(tmp_path / "pipelines"))
    return Command(monkeypatch, capsys)


def deploy(frazil: Command, monkeypatch: pytest.MonkeyPatch, folder: Path, **more: Any) -> Output:
    """Makes the deployment; what it has in addition needs what was landed before."""
    monkeypatch.setenv("FRAZIL_DEPLOYMENTS", str(write_deployment(folder, {**LAB, **more})))
    return done(frazil("deploy", "create", "--yes"))


def done(result: Output) -> Output:
    assert result.code == 0, result.err
    return result


def work_in_it(frazil: Command, monkeypatch: pytest.MonkeyPatch, home: Home, folder: Path) -> None:
    """`eval "$(frazil env --deployment lab)"`, upon a profile that knows of Spark alone."""
    exports = done(frazil("env", "--deployment", "lab")).out
    profile = folder / "spark.json"
    profile.write_text(json.dumps({"spark": json.loads(home.profile.read_text())["spark"]}))
    monkeypatch.setenv("FRAZIL_PROFILE", str(profile))
    for line in exports.splitlines():
        name, _, value = line.removeprefix("export ").partition("=")
        monkeypatch.setenv(name, "".join(shlex.split(value)))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):  # who may take the writer's role
        monkeypatch.setenv(name, "test")


@pytest.mark.nightly
def test_trades_come_from_the_cluster_to_the_view(
    home: Home, frazil: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy(frazil, monkeypatch, tmp_path / "first")
    with monkeypatch.context() as inside:
        work_in_it(frazil, inside, home, tmp_path)
        wait_for(lambda: waiting(frazil) == TRADES)
        done(frazil("land", "--all"))
        done(frazil("sync", "--all"))
        assert waiting(frazil) == 0
        checks = done(frazil("check", "--all", "--json")).document
        assert {check["passed"] for check in checks if not check.get("skipped")} == {True}

    deploy(frazil, monkeypatch, tmp_path / "second", snowflake={"tables": ["stock_trades"]})
    assert done(frazil("deploy", "plan", "--json")).document["steps"] == []
    done(frazil("deploy", "verify"))
    work_in_it(frazil, monkeypatch, home, tmp_path)
    with Clients(Settings.load()).snowflake() as connection:
        cursor = connection.cursor()
        (user,) = cursor.execute("SELECT CURRENT_USER()").fetchone()
        (count,) = cursor.execute(f"SELECT COUNT(*) FROM {VIEW}").fetchone()
    assert (user, count) == ("LAB_USER", TRADES)


def waiting(frazil: Command) -> int:
    """Records of the topic that the table lacks."""
    return sum(part["lag"] for part in done(frazil("lag", "--json")).document)
