"""The command on the shared stack, with pipelines of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from frazil.settings.profile import Settings
from kit.runs.shell import Command, Shell


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
