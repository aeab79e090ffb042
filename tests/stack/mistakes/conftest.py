"""A newcomer's shell on the shared stack."""

from __future__ import annotations

from pathlib import Path

import pytest

from frazil.settings.profile import Settings
from kit.shell import Command, Shell


@pytest.fixture
def shell(stack: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    folder = tmp_path / "pipelines"
    folder.mkdir()
    monkeypatch.setenv("FRAZIL_PIPELINES", str(folder))
    return Shell(folder)


@pytest.fixture
def frazil(shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(monkeypatch, capsys)
