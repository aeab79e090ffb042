"""A newcomer's shell: no profile, no stack, one pipeline of one topic."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.runs.shell import TOPICS, Command


@pytest.fixture
def pipelines(tmp_path: Path) -> Path:
    folder = tmp_path / "pipelines"
    (folder / "shop").mkdir(parents=True)
    (folder / "shop" / "defs.yaml").write_text(
        f"type: {TOPICS}\nattributes: {{tables: [{{topic: orders}}]}}\n"
    )
    return folder


@pytest.fixture
def frazil(
    pipelines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    monkeypatch.setenv("FRAZIL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FRAZIL_PIPELINES", str(pipelines))
    monkeypatch.delenv("FRAZIL_PROFILE", raising=False)
    return Command(monkeypatch, capsys)
