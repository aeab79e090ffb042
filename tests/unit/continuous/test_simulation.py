"""The simulated fleet of docs/scale.md: it stays within what it is given, and names what is full."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kit.simulation.fleet import Fleet
from kit.simulation.outcome import play

_SMALL = Fleet(tables=40, every=10, records=5, size=1000, runners=1, cores=2, commits=50)


def test_with_room_for_all_each_table_is_landed_once_an_interval() -> None:
    seen = play(_SMALL, seconds=120)
    assert seen.landings == pytest.approx(_SMALL.tables / _SMALL.every, rel=0.25)
    assert seen.wall == "none"
    assert seen.p95 < 2 * _SMALL.every


def test_a_catalog_that_takes_fewer_commits_than_are_due_is_the_wall() -> None:
    seen = play(replace(_SMALL, commits=2), seconds=240)
    assert seen.wall == "the catalog"
    assert seen.landings == pytest.approx(2, rel=0.05)
    assert seen.p95 > play(_SMALL, seconds=240).p95


def test_more_commits_a_second_or_longer_intervals_move_that_wall() -> None:
    full = replace(_SMALL, commits=2)
    assert play(replace(full, commits=20), seconds=240).wall == "none"
    assert play(replace(full, every=60), seconds=240).wall == "none"


def test_records_that_take_more_cpu_than_there_is_make_the_cores_the_wall() -> None:
    busy = replace(_SMALL, records=5000)
    seen = play(busy, seconds=120)
    assert seen.wall == "the cores"
    assert play(replace(busy, cores=8), seconds=120).wall == "none"


def test_the_same_fleet_gives_the_same_figures() -> None:
    assert play(_SMALL, seconds=60) == play(_SMALL, seconds=60)


@pytest.mark.parametrize("runners", [2, 40])
def test_a_few_runners_with_their_share_of_the_catalog_stand_for_all(runners: int) -> None:
    fleet = replace(_SMALL, tables=40 * runners, runners=runners, commits=50 * runners)
    seen, alone = play(fleet, seconds=120), play(_SMALL, seconds=120)
    assert seen.landings == pytest.approx(runners * alone.landings, rel=0.1)
    assert seen.cores == pytest.approx(alone.cores, rel=0.1)
