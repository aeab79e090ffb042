"""The command on the shared stack, with pipelines of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from frazil.settings.profile import Settings
from kit.runs.shell import Command, Shell


@pytest.fixture(scope="session", autouse=True)
def alembic_reads_once(by_day: bool) -> Iterator[None]:
    """By day Alembic reads Dagster's scripts once a process.

    Dagster has all of them read four times when it opens its storage: 0.2 s of CPU, for each command that
    tells it something.
    """
    if not by_day:
        yield
        return
    from alembic.script import ScriptDirectory

    read, known = ScriptDirectory.from_config, dict[str | None, ScriptDirectory]()

    def from_config(config: Any) -> ScriptDirectory:
        place = config.get_main_option("script_location")
        if place not in known:
            known[place] = read(config)
        return known[place]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScriptDirectory, "from_config", staticmethod(from_config))
        yield


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
