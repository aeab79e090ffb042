"""A collector that is down, slow or not named stops no work: that is said once, and once that it is over."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from frazil_lineage.collector import Collector, failure
from frazil_lineage.events import run_events
from frazil_lineage.parent import Parent
from frazil_lineage.work import Work
from kit.lineage.collecting import Collecting, collecting


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collecting]:
    with collecting() as collector:
        monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "http")
        monkeypatch.setenv("OPENLINEAGE__TRANSPORT__URL", collector.url)
        yield collector


def batch() -> list[Any]:
    return list(run_events(Work("land", "land.local.trades", []), "local", Parent(), datetime.now(UTC)))


class Hour:
    """A clock on which an hour passes with each look."""

    now = 0.0

    def __call__(self) -> float:
        self.now += 3600
        return self.now


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_an_outage_is_said_once_and_its_end_once(
    server: Collecting, caplog: pytest.LogCaptureFixture
) -> None:
    collector = Collector(60, Hour())
    server.is_down = True
    for _ in range(3):
        collector.send(batch)
    server.is_down = False
    for _ in range(2):
        collector.send(batch)

    assert server.asked == 3 + 2 * 2
    first, last = lines(caplog)
    assert first.startswith("The collector of lineage took no events.")
    assert "the answer was 503" in first
    assert last == "Events of lineage are sent again."
    assert len(server.events) == 4


def test_a_collector_that_is_down_is_left_alone_for_a_while(server: Collecting) -> None:
    collector = Collector(60, lambda: 0.0)
    server.is_down = True

    collector.send(batch)
    collector.send(batch)

    assert server.asked == 1


def test_a_collector_that_never_answers_costs_the_time_limit_and_no_more(
    server: Collecting, caplog: pytest.LogCaptureFixture
) -> None:
    server.answers.clear()

    Collector(0.2).send(batch)

    (line,) = lines(caplog)
    assert "0.2 s have passed" in line


@pytest.mark.parametrize("by", ["variables", "file"])
def test_where_openlineage_is_told_of_no_collector_that_is_said_and_setting_one_fixes_it(
    by: str,
    server: Collecting,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("OPENLINEAGE__TRANSPORT__TYPE")
    monkeypatch.delenv("OPENLINEAGE__TRANSPORT__URL")
    collector = Collector(60, Hour())

    collector.send(batch)
    if by == "file":
        (tmp_path / "openlineage.yml").write_text(f"transport: {{type: http, url: '{server.url}'}}")
    else:
        monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "http")
        monkeypatch.setenv("OPENLINEAGE__TRANSPORT__URL", server.url)
    collector.send(batch)

    warnings = [line for line in lines(caplog) if "OpenLineage is told of no collector." in line]
    assert len(warnings) == 1
    assert len(server.events) == 2


def test_a_key_goes_to_the_collector_and_into_no_line(
    server: Collecting, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__AUTH", '{"type": "api_key", "apiKey": "hush"}')
    with caplog.at_level(logging.DEBUG, "frazil_lineage"):
        Collector(60).send(batch)
        server.is_down = True
        Collector(60).send(batch)

    assert set(server.logins) == {"Bearer hush"}
    assert not any("hush" in line for line in lines(caplog))


def test_an_address_with_a_password_is_in_no_error() -> None:
    met = failure(OSError("no route to http://frazil:hush@127.0.0.1"))

    assert "hush" not in str(met)
    assert "OSError" in str(met)
