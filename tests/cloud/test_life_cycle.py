"""A deployment from its plan to nothing, by the command alone, in three clouds that judge each other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.clouds.three_clouds import LAB, ThreeClouds, three_clouds, write_deployment
from kit.deployments.life_cycle import live
from kit.runs.shell import Command


@pytest.fixture(scope="module")
def clouds(nobody_at_home: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeClouds]:
    with three_clouds(tmp_path_factory.mktemp("clouds")) as clouds:
        yield clouds


@pytest.mark.nightly
def test_a_deployment_is_made_proved_healed_and_removed(
    clouds: ThreeClouds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FRAZIL_DEPLOYMENTS", str(write_deployment(tmp_path, LAB)))
    for name, value in clouds.administrator.items():
        monkeypatch.setenv(name, value)

    live(LAB, clouds, Command(monkeypatch, capsys))
