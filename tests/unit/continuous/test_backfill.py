"""A backfill: bounded landings up to where the topic ended, beside others, stopped and continued."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from frazil.continuous.backfill import Filled, backfill
from frazil.errors import PausedError
from frazil.landing.halts.pause import pause
from frazil.landing.land import land
from frazil.landing.plan import Plan, make_plan
from frazil.landing.position.history import History
from frazil.landing.position.state import table_states
from kit.model.parts.edges import edges
from kit.model.parts.stage import Dice
from kit.model.world import SPEC, World


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A topic of ten records in one partition, and four in the other."""
    with edges() as doubles:
        monkeypatch.setattr("frazil.landing.position.state.known_facts", doubles.known_facts)
        monkeypatch.setattr("frazil.continuous.backfill.topic_fact", doubles.topic_fact)
        doubles.world = world = World(Dice())
        for partition in (*[0] * 10, *[1] * 4):
            world.topic.produce(partition)
        yield world
        assert world.oracle.broken is None


def lag(world: World) -> int:
    return table_states([SPEC], world.connections)[0].lag


def test_it_lands_a_bounded_number_of_records_at_a_time_and_tells_how_far_it_is(world: World) -> None:
    progress: list[Filled] = []
    clock = iter(range(0, 1000, 10))

    filled = backfill(
        SPEC, world.connections, max_records=5, tell=progress.append, clock=lambda: float(next(clock))
    )

    assert [each.left for each in progress] == [14, 9, 4, 0]
    assert [each.landed.records for each in progress] == [0, 5, 10, 14]
    assert [each.seconds_left for each in progress] == [None, 18.0, 8.0, 0.0]
    assert (filled.landed.landings, filled.landed.bytes, lag(world)) == (3, 140, 0)


def test_what_comes_meanwhile_is_left_to_the_live_landings(world: World) -> None:
    def produce(_: Filled) -> None:
        world.topic.produce(0)

    filled = backfill(SPEC, world.connections, max_records=7, tell=produce)

    assert filled.offsets == 14
    assert filled.left == 0
    assert lag(world) > 0


def test_it_is_stopped_between_two_landings_and_another_one_goes_on(world: World) -> None:
    first = backfill(SPEC, world.connections, max_records=5, is_stopped=lambda: lag(world) < 14)
    rest = backfill(SPEC, world.connections, max_records=5)

    assert (first.landed.records, first.left) == (5, 9)
    assert (rest.offsets, rest.landed.records, lag(world)) == (9, 9, 0)


def test_landings_of_others_are_counted_in_and_one_that_is_overtaken_is_no_failure(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = []

    def late(history: History, most: int) -> Plan:
        plan = make_plan(history, most)
        monkeypatch.setattr("frazil.landing.land.make_plan", make_plan)
        others.append(land(SPEC, world.connections, max_records=6))
        return plan

    monkeypatch.setattr("frazil.landing.land.make_plan", late)
    filled = backfill(SPEC, world.connections, max_records=7)

    assert len(others) == 1
    assert (filled.overtaken, filled.left, filled.done) == (1, 0, 14)
    assert filled.landed.records == 8


def test_a_paused_table_is_not_filled(world: World) -> None:
    land(SPEC, world.connections, max_records=2)
    pause(SPEC, world.connections, "now")

    with pytest.raises(PausedError):
        backfill(SPEC, world.connections)
