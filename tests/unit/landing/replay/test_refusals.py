"""What a replay refuses: it loses no row, and brings none back that was to go."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from frazil.errors import (
    ConfigureError,
    NotYetError,
    OffsetsLostError,
    RepairError,
    TopicChangedError,
    UsageError,
)
from frazil.landing.land import land
from frazil.landing.repairs.redrive import redrive
from frazil.landing.replay.run import replay
from kit.model.parts.edges import edges
from kit.model.parts.stage import Dice
from kit.model.works.replayed import SKIPPING, forget_letters, ledger, letters, make, rows
from kit.model.works.works import do
from kit.model.world import SPEC, UPSERTS, World


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

    with pytest.raises(OffsetsLostError, match="Of 1 rows or dead letters") as refused:
        replay(SPEC, world.connections, {0: (0, 5)})

    assert refused.value.todo.startswith("Name other offsets; or land the topic as it is now")
    assert replay(SPEC, world.connections, {0: (0, 3)}).replayed == 1
    assert land(SPEC.model_copy(update={"table": "other"}), world.connections).records == 2
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

    with pytest.raises(RepairError, match=r"1 rows of .* are of bad records") as refused:
        replay(SPEC, world.connections, {0: (0, 5)})

    assert refused.value.todo == "Name offsets without them."
    assert replay(SPEC, world.connections, {0: (2, 5)}).replayed == 2
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


def test_rows_that_were_forgotten_or_deleted_by_others_do_not_come_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgetful = replace(ledger(world), total_forgotten=1)
    monkeypatch.setattr("frazil.landing.replay.difference.read_ledger", lambda _: forgetful)
    world.topic.produce(0, bad=True)
    land(SKIPPING, world.connections)
    make(world, 5, bad=False)

    with pytest.raises(RepairError, match="would bring 1 rows back"):
        replay(SKIPPING, world.connections, {0: (3, 6)})


def test_rows_that_others_deleted_do_not_come_back_where_the_snapshot_that_tells_of_it_has_expired(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.stage.play({"engine": partial(do, world, "engine", "delete", random.Random(0))})
    monkeypatch.setattr("frazil.landing.replay.plan.foreign_commits", lambda _: ())

    with pytest.raises(RepairError, match="would bring 1 rows back") as refused:
        replay(SPEC, world.connections, {0: (0, 4)})

    before = rows(world)
    assert refused.value.todo == "Name offsets of which no row is gone."
    assert replay(SPEC, world.connections, {0: (min(before), min(before) + 1)}).replayed == 1
    assert rows(world) == before


def test_tables_whose_rows_are_not_records_and_topics_that_are_others_are_refused(world: World) -> None:
    keyed = SPEC.model_copy(update={"mode": "upsert"})
    history = SPEC.model_copy(update={"mode": "cdc", "versions": "all"})
    nameless = SPEC.model_copy(update={"metadata_names": "portable"})
    with pytest.raises(UsageError, match="mode: upsert"):
        replay(keyed, world.connections, {0: (0, 1)})
    for older in (partial(replay, spans={0: (0, 1)}), redrive):
        with pytest.raises(UsageError) as refused:
            older(history, world.connections)
        assert refused.value.meaning.startswith("Since and until when a version holds follows from")
    with pytest.raises(ConfigureError, match="has no column") as unnamed:
        replay(nameless, world.connections, {0: (0, 1)})
    assert "metadata_names" in unnamed.value.todo
    mended = nameless.model_copy(update={"metadata_names": "tableflow"})
    assert replay(mended, world.connections, {0: (0, 1)}).replayed == 1
    world.topic.begin_anew()
    with pytest.raises(TopicChangedError):
        replay(SPEC, world.connections, {0: (0, 1)})
    with pytest.raises((NotYetError, ConfigureError)):
        replay(SPEC.model_copy(update={"table": "another"}), world.connections, {0: (0, 1)})


def test_offsets_that_only_the_present_log_has_are_replayed(world: World) -> None:
    for n in range(6):
        if n == 0:
            world.topic.begin_anew()
        world.topic.produce(0)
    land(SPEC, world.connections, adopt_topic=True)
    before = rows(world)
    with pytest.raises(UsageError, match="also one of an earlier log") as refused:
        replay(SPEC, world.connections, {0: (4, 6)})

    assert refused.value.todo == "Name offsets that only the present log has."
    assert replay(SPEC, world.connections, {0: (5, 6)}).replayed == 1
    assert rows(world) == before


@pytest.mark.parametrize("older", [partial(replay, spans={0: (0, 1)}), redrive], ids=["replay", "redrive"])
def test_what_a_row_by_key_should_hold_is_sent_again_or_the_topic_lands_into_another_table(
    older: Callable[..., object],
) -> None:
    with edges() as doubles:
        doubles.world = world = World(Dice(), keyed=True)
        world.topic.produce(0, key=1)
        land(UPSERTS, world.connections)
        with pytest.raises(UsageError, match="mode: upsert") as refused:
            older(UPSERTS, world.connections)

        world.topic.produce(0, key=1)
        land(UPSERTS, world.connections)
        land(SPEC.model_copy(update={"table": "other"}), world.connections)

        assert " to the topic again, as a new record" in refused.value.todo
        assert rows(world) == [1]
