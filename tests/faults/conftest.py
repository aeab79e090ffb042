"""The numbers of a run, told at its end: rounds, seeds, and what was lost, doubled, wrong or stuck."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from _pytest.terminal import TerminalReporter

from frazil.settings.profile import Settings
from kit.runs.toll import Toll, table_of
from kit.stack.brokers import FarBroker, far_broker

_TOLL = "toll"
_BEGAN = pytest.StashKey[float]()


@pytest.fixture
def toll(record_property: Callable[[str, object], None]) -> Iterator[Toll]:
    """What the rounds of a test come to; the run tells it at its end."""
    new_toll = Toll()
    yield new_toll
    record_property(_TOLL, new_toll.document)


@pytest.fixture(scope="session")
def far(stack: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FarBroker]:
    """A broker that is reached over a wire, beside the stack that holds the tables."""
    with far_broker(tmp_path_factory.mktemp("far") / "home") as broker:
        yield broker


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_BEGAN] = time.monotonic()


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Prints the table that docs/guarantees.md has of the last run."""
    reports = [report for every in terminalreporter.stats.values() for report in every]
    ended = [r for r in reports if isinstance(r, pytest.TestReport) and r.when == "teardown"]
    tolls = [value for r in ended for name, value in r.user_properties if name == _TOLL]
    if not tolls:
        return
    minutes = (time.monotonic() - terminalreporter.config.stash[_BEGAN]) / 60
    terminalreporter.section("what the attack came to")
    for line in table_of(tolls):
        terminalreporter.write_line(line)
    terminalreporter.write_line(f"{minutes:.1f} minutes in all")
