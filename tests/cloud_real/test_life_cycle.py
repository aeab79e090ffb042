"""The life of a deployment in real clouds: the same test as on the stand-ins. It spends money.

It makes a Standard cluster, a Flink pool, a connector, Tableflow topics, a bucket and a warehouse in the
accounts that the settings name, and removes them at the end. Who administers these accounts is said by the
settings of `frazil deploy`: FRAZIL_CONFLUENT__API_KEY, FRAZIL_AWS__PROFILE, FRAZIL_SNOWFLAKE__USER and so on.

    FRAZIL_TEST_REAL_CLOUDS=spend-money pytest tests/cloud_real -s --timeout 0

No other run of tests comes here. A run that fails may leave a deployment behind; it says how to remove it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from frazil.settings.profile import Settings
from kit.clouds.real_clouds import RealClouds
from kit.clouds.three_clouds import LAB, write_deployment
from kit.deployments.life_cycle import live
from kit.runs.shell import Command


@pytest.fixture
def deployment() -> dict[str, Any]:
    """One whose names nobody else has."""
    number = uuid4().hex[:8]
    return {**LAB, "name": f"frazil_{number}", "aws": {"bucket": f"frazil-tests-{number}"}}


@pytest.fixture
def folder(deployment: dict[str, Any], tmp_path: Path) -> Path:
    if os.environ.get("FRAZIL_TEST_REAL_CLOUDS") != "spend-money":
        pytest.fail("These tests make things in real clouds, which costs money: read the head of this file.")
    folder = write_deployment(tmp_path, deployment)
    print(f"\nIf it fails: FRAZIL_DEPLOYMENTS={folder} frazil deploy delete {deployment['name']}")
    return folder


def test_a_deployment_is_made_proved_healed_and_removed(
    deployment: dict[str, Any],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("FRAZIL_DEPLOYMENTS", str(folder))

    live(deployment, RealClouds(Settings.load(), deployment["name"]), Command(monkeypatch, capsys))
