"""One deployment in three clouds for all changes of a module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.deployments.tour import Frazil, Tour, differing, make_table, toured
from kit.runs.shell import Command


@pytest.fixture(scope="module")
def clouds_of_the_tour(nobody_at_home: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tour]:
    with toured(tmp_path_factory.mktemp("tour")) as tour:
        yield tour


@pytest.fixture
def frazil(
    clouds_of_the_tour: Tour,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Frazil:
    """The command of who administers the deployment."""
    monkeypatch.chdir(tmp_path)
    for name, value in clouds_of_the_tour.environment.items():
        monkeypatch.setenv(name, value)
    return Command(monkeypatch, capsys)


@pytest.fixture
def tour(clouds_of_the_tour: Tour, frazil: Frazil) -> Tour:
    """The deployment as its file says, with a table that Snowflake shows."""
    tour = clouds_of_the_tour
    if not tour.spec.snowflake or not tour.spec.snowflake.tables:
        assert frazil("deploy", "create", "--yes").code == 0
        make_table(tour)
        assert frazil("deploy", "create", "--yes").code == 0
        assert differing(frazil) == []
    if not tour.is_clean:
        frazil("deploy", "create", "--yes", "--adopt", "--patience", "1")
    return tour
