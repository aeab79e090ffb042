"""Clocks that disagree: no commit bears a time before the head's, or other engines refuse the table."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from pyiceberg.table import Table, Transaction

from frazil.errors import FrazilError
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.catalogs.pyiceberg import transaction
from frazil.tables.commits.commit import commit
from kit.readers.sound import refusals_of_java
from kit.tables.commits import COMMITS, NAME, Lake, landed

DAY = 86_400.0
SNAPSHOTS = ("landing", "derivation", "compaction")


@contextmanager
def clock(ahead: float, monkeypatch: pytest.MonkeyPatch) -> Iterator[float]:
    """Another machine's clock, so many seconds ahead of ours."""
    real = time.time
    with monkeypatch.context() as patch:
        patch.setattr("time.time", lambda: real() + ahead)
        yield real() + ahead


@pytest.mark.parametrize("kind", SNAPSHOTS)
@pytest.mark.parametrize("ahead", [40.0, 90.0, 600.0, DAY])
def test_whatever_the_clocks_say_every_engine_reads_the_table(
    lake: Lake, kind: str, ahead: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = lake.prepare(kind)
    with clock(ahead, monkeypatch):
        lake.append()  # by a machine whose clock is ahead

    try:
        commit()
    except FrazilError:
        assert ahead > 60
        assert COMMITS[kind].seen(lake) == COMMITS[kind].before

    assert refusals_of_java(lake.table) == []


@pytest.mark.parametrize("kind", SNAPSHOTS)
def test_a_commit_never_bears_a_time_before_that_of_the_head(
    lake: Lake, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = lake.prepare(kind)
    with clock(40, monkeypatch):
        lake.append()
    before = lake.table.current_snapshot()

    commit()

    after = lake.table.current_snapshot()
    assert before
    assert after
    assert after.timestamp_ms >= before.timestamp_ms


@pytest.mark.parametrize("kind", SNAPSHOTS)
def test_a_head_from_tomorrow_is_an_error_that_names_both_clocks(
    lake: Lake, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = lake.prepare(kind)
    with clock(DAY, monkeypatch) as tomorrow:
        lake.append()

    with pytest.raises(FrazilError) as raised:
        commit()

    days = [datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d") for at in (tomorrow, tomorrow - DAY)]
    assert all(day in str(raised.value) for day in days), str(raised.value)
    assert COMMITS[kind].seen(lake) == COMMITS[kind].before

    with clock(DAY, monkeypatch):  # as NTP sets it
        commit()
    assert str(raised.value.todo).startswith("Set the clocks of all machines")
    assert COMMITS[kind].seen(lake) == COMMITS[kind].after


def test_two_machines_less_than_a_minute_apart_land_in_turn(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4, 10, 2):
        with clock(50, monkeypatch):
            landed(lake, number)
        landed(lake, number + 1)

    assert lake.quantities == list(range(10))
    assert refusals_of_java(lake.table) == []


def test_what_was_staged_before_the_machine_slept_for_hours_is_staged_anew(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Orphan removal of another machine may have taken the manifests that were staged."""
    staged: list[str] = []
    with monkeypatch.context() as patch:

        def stage(table: Table) -> Transaction:
            tx = transaction(table).set_properties(turn=str(len(staged)))
            if not staged:
                real = time.time
                patch.setattr("time.time", lambda: real() + DAY)
            staged.append(table.metadata_location)
            return tx

        commit(TableHandle(lake.catalog, NAME), stage, work="change of properties")

    assert len(staged) == 2
    assert lake.table.properties["turn"] == "1"
