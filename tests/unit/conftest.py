from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest


@pytest.fixture(autouse=True)
def no_profile_but_the_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps the developer's own stack and Dagster instance out of unit tests."""
    for name in list(os.environ):
        if name.startswith(("FRAZIL_", "DAGSTER_", "AWS_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("FRAZIL_HOME", str(tmp_path / "frazil-home"))


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance
