"""A replay: what a table has of some offsets is replaced by what Kafka has of them, among stand-ins."""

from __future__ import annotations

from frazil.landing.halts.pause import pause
from frazil.landing.land import land
from frazil.landing.repairs.redrive import redrive
from frazil.landing.repairs.rollback import roll_back
from frazil.landing.replay.run import replay
from frazil.tables.commits.suspension import PAUSE, SUSPENDED_BY
from kit.model.works.replayed import SKIPPING, adds_up, ledger, letters, make, rows
from kit.model.world import SPEC, World


def test_what_is_there_is_replaced_and_not_doubled_and_the_position_stands(world: World) -> None:
    before = ledger(world)
    report = replay(SPEC, world.connections, {0: (0, 4)})

    after = ledger(world)
    assert (rows(world), letters(world)) == ([0, 3, 4], [1])
    assert (report.offsets, report.replaced, report.replayed) == (4, 2, 2)
    assert (report.dead_letters, report.redriven) == (0, 0)
    assert (after.place, after.total_records, after.total_bad) == (before.place, 3, 1)
    assert (after.replayed_spans, after.is_landing) == ({0: (0, 4)}, False)
    assert adds_up(world)
    assert world.branches == []


def test_a_bad_record_that_decodes_now_is_a_row_and_one_that_no_longer_does_is_a_dead_letter(
    world: World,
) -> None:
    make(world, 1, bad=False)
    make(world, 3, bad=True)
    report = replay(SPEC, world.connections, {0: (1, 4)})

    assert (rows(world), letters(world)) == ([0, 1, 4], [1, 3])
    assert (report.dead_letters, report.redriven) == (1, 1)
    assert (ledger(world).total_dead_letters, ledger(world).total_records) == (1, 3)
    assert adds_up(world)
    world.oracle.broken = None  # it knows of no row that turns bad

    make(world, 3, bad=False)
    again = replay(SPEC, world.connections, {0: (0, 5)})

    assert (rows(world), again.redriven) == ([0, 1, 3, 4], 1)
    assert (ledger(world).total_dead_letters, ledger(world).total_returned) == (0, 0)
    assert adds_up(world)
    assert redrive(SPEC, world.connections).already_in == 2


def test_a_record_that_was_skipped_comes_back_as_a_row(world: World) -> None:
    world.topic.produce(0, bad=True)
    land(SKIPPING, world.connections)
    make(world, 5, bad=False)

    report = replay(SKIPPING, world.connections, {0: (3, 6)})

    assert (rows(world), report.replaced, report.replayed) == ([0, 3, 4, 5], 2, 3)
    assert ledger(world).total_returned == 1
    assert adds_up(world)


def test_a_dry_run_only_looks(world: World) -> None:
    head = world.table.metadata.current_snapshot_id

    report = replay(SPEC, world.connections, {0: (0, 4)}, dry_run=True)

    assert (report.offsets, report.replaced, report.files, report.dry_run) == (4, 2, (2, 0), True)
    assert world.table.metadata.current_snapshot_id == head


def test_a_rollback_takes_it_back(world: World) -> None:
    head = world.table.metadata.current_snapshot_id
    make(world, 1, bad=False)
    replay(SPEC, world.connections, {0: (0, 5)})
    roll_back(SPEC, world.connections, head)

    assert rows(world) == [0, 3, 4]
    assert adds_up(world)


def test_a_paused_table_can_be_replayed_and_stays_paused(world: World) -> None:
    pause(SPEC, world.connections, "to replay in peace")

    assert replay(SPEC, world.connections, {0: (0, 4)}).snapshot_id
    assert world.table.properties[SUSPENDED_BY] == PAUSE
