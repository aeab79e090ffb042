"""The command on the shared stack, with pipelines of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.settings.profile import Settings
from kit.killed import lane_of_tests
from kit.shell import Command, Shell


@pytest.fixture
def shell(stack: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """The command in a process of its own, as a shell starts it; it knows no table yet."""
    folder = tmp_path / "pipelines"
    folder.mkdir()
    monkeypatch.setenv("FRAZIL_PIPELINES", str(folder))
    return Shell(folder)


@pytest.fixture
def frazil(shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The same command in this process, which is quicker."""
    return Command(monkeypatch, capsys)


@pytest.fixture(scope="session")
def both_routes(lake: Connections) -> Connections:
    """Tables of Glue take the Arrow lane, those of REST Spark's own writer: the same tests try both."""
    if lake.settings.catalog == "rest":
        return lake
    return Clients(lake.settings.with_changes(spark={"lane": lane_of_tests("glue")}))
