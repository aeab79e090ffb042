"""A replay: what a table has of some offsets is replaced by what Kafka has of them, among stand-ins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.table import Table

from frazil.checks.run import run_check
from frazil.errors import (
    ConfigureError,
    NotYetError,
    OffsetsLostError,
    RepairError,
    TopicChangedError,
    UsageError,
)
from frazil.landing.land import land
from frazil.landing.ledger import Ledger, read_ledger
from frazil.landing.pause import pause
from frazil.landing.redrive import redrive
from frazil.landing.replay.run import replay
from frazil.landing.rollback import roll_back
from frazil.tables.suspension import PAUSE, SUSPENDED_BY
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.forgetting.rows import Going, take_rows
from frazil.upkeep.kind import Order
from kit.model.edges import edges
from kit.model.stage import Dice
from kit.model.world import NAME, SPEC, World

SKIPPING = SPEC.model_copy(update={"on_bad_record": "skip"})
Key = tuple[int, int]


@pytest.fixture
def world() -> Iterator[World]:
    """Two landings: offsets 0 to 3 of partition 0, of which 1 is bad and 2 is a gap, and then 3 and 4."""
    with edges() as found:
        found.world = world = World(Dice())
        world.topic.produce(0)
        world.topic.produce(0, bad=True)
        world.topic.produce(0, gap=True)
        land(SPEC, world.connections)
        world.topic.produce(0)
        world.topic.produce(0)
        land(SPEC, world.connections)
        yield world
        assert world.oracle.broken is None


def rows(world: World) -> list[int]:
    """The offsets of partition 0 that are rows."""
    table = world.table
    return sorted(at for _, p, at in world.store.rows(table, table.metadata.current_snapshot_id) if p == 0)


def letters(world: World) -> list[int]:
    table = world.catalog.look(NAME.dead_letters.identifier)
    return sorted(at for _, _, at in world.store.rows(table, table.metadata.current_snapshot_id))


def ledger(world: World) -> Ledger:
    found = read_ledger(world.table.metadata)
    assert found
    return found


def make(world: World, offset: int, *, bad: bool) -> None:
    """What the decoder makes of a record from now on."""
    place = (world.topic.log, 0, offset)
    world.topic.ever[place] = replace(world.topic.ever[place], bad=bad)


@contextmanager
def just_before_the_commit(world: World, others: Callable[[], object]) -> Iterator[list[Table]]:
    """What others do once, between a replay's last look at the table and its commit."""
    commit, late = world.catalog.commit_table, list[Table]()

    def delayed(table: Table, requirements: Any, updates: Any) -> Any:
        if "frazil.replayed" in str(updates) and table.name()[-1] == NAME.table and not late:
            late.append(table)
            others()
        return commit(table, requirements, updates)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.catalog, "commit_table", delayed)
        yield late


def forget_letters(world: World) -> None:
    """All of them, and no row."""
    every = Going(NAME.dead_letters, "`quantity` IN (0)", AlwaysTrue())
    assert take_rows(every, world.connections, due=0).rows == 1


def adds_up(world: World) -> bool:
    return run_check("row_count", SPEC, world.connections).passed


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


@pytest.mark.parametrize("step", ["branched", "written", "audited"])
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


def test_spans_that_the_table_does_not_hold_or_kafka_no_longer_has_are_refused(world: World) -> None:
    for spans in ({0: (0, 6)}, {2: (0, 1)}, {0: (9, 12)}):
        with pytest.raises(UsageError, match="not within what"):
            replay(SPEC, world.connections, spans)
    world.topic.retain(0, 2)
    with pytest.raises(OffsetsLostError, match=r"no longer holds[\s\S]*partition 0: \[0, 2\)"):
        replay(SPEC, world.connections, {0: (0, 4)})

    assert replay(SPEC, world.connections, {0: (2, 4)}).replayed == 1
    assert rows(world) == [0, 3, 4]


def test_a_row_whose_record_a_compaction_took_is_not_lost(world: World) -> None:
    del world.topic.ever[world.topic.log, 0, 3]

    with pytest.raises(OffsetsLostError, match="Of 1 rows or dead letters"):
        replay(SPEC, world.connections, {0: (0, 5)})

    world.oracle.broken = None
    assert rows(world) == [0, 3, 4]


def test_a_row_that_can_no_longer_be_decoded_is_taken_out_only_where_it_becomes_a_dead_letter(
    world: World,
) -> None:
    make(world, 3, bad=True)

    with pytest.raises(RepairError, match=r"1 rows of .* can't be decoded any more[\s\S]*offset 3"):
        replay(SKIPPING, world.connections, {0: (0, 5)})

    assert rows(world) == [0, 3, 4]


def test_a_dead_letter_that_a_redrive_repaired_stays_a_row(world: World) -> None:
    redrive(SPEC, world.connections)  # as if by a repair: the topic's record stays as it is

    with pytest.raises(RepairError, match=r"1 rows of .* are of bad records"):
        replay(SPEC, world.connections, {0: (0, 5)})

    assert rows(world) == [0, 1, 3, 4]


def test_a_repaired_row_stays_also_where_a_forgetting_has_taken_its_dead_letter_already(world: World) -> None:
    redrive(SPEC, world.connections)
    forget_letters(world)

    with pytest.raises(RepairError, match=r"1 rows of .* are of bad records"):
        replay(SPEC, world.connections, {0: (0, 5)})

    assert rows(world) == [0, 1, 3, 4]


def test_a_dead_letter_that_was_forgotten_is_not_kept_again(world: World) -> None:
    forget_letters(world)

    with pytest.raises(RepairError, match="would keep 1 dead letters"):
        replay(SPEC, world.connections, {0: (0, 5)})

    assert (rows(world), letters(world)) == ([0, 3, 4], [])
    assert replay(SPEC, world.connections, {0: (2, 5)}).replayed == 2


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


def test_rows_that_were_forgotten_or_deleted_by_others_do_not_come_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgetful = replace(ledger(world), total_forgotten=1)
    monkeypatch.setattr("frazil.landing.replay.present.read_ledger", lambda _: forgetful)
    world.topic.produce(0, bad=True)
    land(SKIPPING, world.connections)
    make(world, 5, bad=False)

    with pytest.raises(RepairError, match="would bring 1 rows back"):
        replay(SKIPPING, world.connections, {0: (3, 6)})


@pytest.mark.parametrize("step", ["branched", "audited"])
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


def test_tables_whose_rows_are_not_records_and_topics_that_are_others_are_refused(world: World) -> None:
    keyed = SPEC.model_copy(update={"mode": "upsert"})
    nameless = SPEC.model_copy(update={"metadata_names": "portable"})
    with pytest.raises(UsageError, match="mode: upsert"):
        replay(keyed, world.connections, {0: (0, 1)})
    with pytest.raises(ConfigureError, match="has no column"):
        replay(nameless, world.connections, {0: (0, 1)})
    world.topic.begin_anew()
    with pytest.raises(TopicChangedError):
        replay(SPEC, world.connections, {0: (0, 1)})
    with pytest.raises((NotYetError, ConfigureError)):
        replay(SPEC.model_copy(update={"table": "another"}), world.connections, {0: (0, 1)})
