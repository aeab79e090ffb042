"""A replay beside others who change the same table: each row is there once."""

from __future__ import annotations

import pytest

from frazil.errors import UsageError
from frazil.landing.land import land
from frazil.landing.position.ledger import Ledger
from frazil.landing.repairs.redrive import redrive
from frazil.landing.repairs.rollback import roll_back
from frazil.landing.replay.run import replay
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.kind import Order
from kit.model.works.replayed import SKIPPING, adds_up, just_before_the_commit, ledger, letters, make, rows
from kit.model.world import SPEC, World


@pytest.mark.parametrize("step", ["planned", "written", "audited"])
def test_a_landing_meanwhile_hinders_it_not_and_is_not_hindered(world: World, step: str) -> None:
    def meanwhile(done: str) -> None:
        if done == step:
            world.topic.produce(0)
            land(SPEC, world.connections)

    replay(SPEC, world.connections, {0: (0, 5)}, on_step=meanwhile)

    assert rows(world) == [0, 3, 4, 5]
    assert ledger(world).position == {0: 6, 1: 0}
    assert adds_up(world)


def test_it_stands_back_from_who_changes_the_same_rows_and_tries_again(world: World) -> None:
    def meanwhile(done: str) -> None:
        if done == "audited":
            make(world, 1, bad=False)
            redrive(SPEC, world.connections)
            compact(SPEC, world.connections, world.store.now, Order(everything=True))

    make(world, 1, bad=False)
    replay(SPEC, world.connections, {0: (0, 5)}, on_step=meanwhile)

    assert rows(world) == [0, 1, 3, 4]
    assert (ledger(world).total_dead_letters, ledger(world).total_redriven) == (0, 1)
    assert adds_up(world)


def test_a_dead_letter_that_is_redriven_just_before_the_commit_is_no_row_twice(world: World) -> None:
    make(world, 1, bad=False)

    with just_before_the_commit(world, lambda: redrive(SPEC, world.connections)) as late:
        replay(SPEC, world.connections, {0: (1, 2)})

    assert late
    assert rows(world) == [0, 1, 3, 4]
    assert adds_up(world)


def test_a_record_that_is_landed_again_behind_a_rollback_is_no_row_twice(world: World) -> None:
    before = world.table.metadata.current_snapshot_id
    world.topic.produce(0, bad=True)
    land(SKIPPING, world.connections)
    make(world, 5, bad=False)

    def again() -> None:
        roll_back(SPEC, world.connections, before)
        land(SKIPPING, world.connections)

    with just_before_the_commit(world, again) as late:
        replay(SKIPPING, world.connections, {0: (5, 6)})

    assert late
    assert rows(world) == [0, 3, 4, 5]
    assert adds_up(world)


def test_two_at_once_leave_each_row_once(world: World) -> None:
    def meanwhile(done: str) -> None:
        if done == "audited":
            replay(SPEC, world.connections, {0: (1, 5)})

    replay(SPEC, world.connections, {0: (0, 4)}, on_step=meanwhile)

    assert rows(world) == [0, 3, 4]
    assert adds_up(world)


def test_a_new_dead_letter_is_kept_once_though_others_are_quicker(world: World) -> None:
    make(world, 3, bad=True)

    def compacted() -> None:
        compact(SPEC, world.connections, world.store.now, Order(everything=True))

    with just_before_the_commit(world, compacted) as late:
        report = replay(SPEC, world.connections, {0: (0, 5)})
    world.oracle.broken = None  # it knows of no row that turns bad

    assert late
    assert (rows(world), letters(world), report.dead_letters) == ([0, 4], [1, 3], 1)
    assert adds_up(world)


@pytest.mark.parametrize("step", ["planned", "audited"])
def test_a_table_that_was_rolled_back_meanwhile_gets_no_row_behind_its_position(
    world: World, step: str
) -> None:
    first = next(s for s in world.table.metadata.snapshots if Ledger.of(s))

    def meanwhile(done: str) -> None:
        if done == step:
            roll_back(SPEC, world.connections, first.snapshot_id)

    with pytest.raises(UsageError, match="not within what"):
        replay(SPEC, world.connections, {0: (0, 5)}, on_step=meanwhile)

    assert rows(world) == [0]
