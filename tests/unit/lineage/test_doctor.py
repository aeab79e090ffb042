"""`frazil doctor` asks the collector of lineage, where the profile sends any."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from frazil.doctor.run import look_at_others
from frazil.settings.profile import Settings
from kit.lineage.collecting import Collecting, sending


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collecting]:
    with sending(monkeypatch) as server:
        yield server


def findings() -> list[tuple[str, str, str]]:
    return [(f.system, f.status, f.what) for f in look_at_others(Settings.load(), 60)]


def test_a_collector_that_takes_an_event_is_well(collector: Collecting) -> None:
    assert findings() == [("lineage", "ok", "")]
    assert collector.refused == []
    assert [event["job"]["name"] for event in collector.ended()] == ["doctor"]


def test_one_that_is_down_and_none_at_all_are_told_apart(
    collector: Collecting, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    collector.is_down = True
    down = findings()
    monkeypatch.delenv("OPENLINEAGE__TRANSPORT__TYPE")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))

    assert down == [("lineage", "down", "The collector of lineage took no events. (the answer was 503)")]
    assert findings() == [("lineage", "missing", "OpenLineage is told of no collector.")]


def test_nothing_is_asked_where_no_lineage_is_sent(
    collector: Collecting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAZIL_LINEAGE__SEND", "false")

    assert findings() == []
    assert collector.asked == 0
