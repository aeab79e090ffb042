"""What is told to be done again is done again, on tables in memory: every record is a row once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError
from pyiceberg.exceptions import CommitFailedException
from pyspark.errors import PySparkException

from frazil.errors import (
    AuditFailedError,
    CommitConflictError,
    DifferentError,
    FrazilError,
    InterruptedWorkError,
    NotYetError,
    OffsetsLostError,
    OvertakenError,
    UsageError,
)
from frazil.formats.columns.columns import RecordColumns
from frazil.formats.logical import Field, Primitive, Struct
from frazil.kafka.probe import Probe
from frazil.landing.cut.create import begin_cut
from frazil.landing.land import land
from frazil.landing.many import _stopped
from frazil.landing.position.ledger import ledgers
from frazil.landing.repairs.redrive import redrive
from frazil.landing.repairs.rollback import roll_back
from frazil.landing.replay.run import _Replayed, replay
from frazil.landing.schema.evolve import evolve
from frazil.landing.schema.tables import ensure_table
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.commit import set_properties
from frazil.tables.creation import NEWEST_FORMAT
from frazil.tables.layout import arrange
from frazil.tables.metadata.manifests import HeadReader
from frazil.tables.spark.faults import spark_job
from frazil.upkeep.compaction.rewrite import compaction_job
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.kind import Order
from kit.model.parts.edges import COLUMNS, edges
from kit.model.parts.stage import Dice
from kit.model.world import NAME, SPEC, World

WIDER = RecordColumns(Struct(()), Struct((*COLUMNS.value, Field("note", Primitive("string"), optional=True))))
STOPPING = SPEC.model_copy(update={"on_lost_records": "stop"})


@pytest.fixture
def world() -> Iterator[World]:
    """A table of two landings, and a record that waits."""
    with edges() as doubles:
        doubles.world = world = World(Dice())
        for _ in range(2):
            world.produce(0)
            land(SPEC, world.connections)
        world.produce(0)
        yield world
        assert world.oracle.broken is None


def offsets(world: World, table: Any = None) -> list[int]:
    """Those of partition 0 that are rows."""
    loaded = table or world.table
    return sorted(at for _, p, at in world.store.rows(loaded, loaded.metadata.current_snapshot_id) if not p)


def once(step: str, others: Callable[[], object]) -> Callable[[str], None]:
    """What others do at the first such step."""
    done: list[str] = []

    def on_step(done_step: str) -> None:
        if done_step == step and not done:
            done.append(done_step)
            others()

    return on_step


def todo_of(error: type[FrazilError], what: Callable[[], object]) -> str:
    with pytest.raises(error) as refused:
        what()
    return refused.value.todo or ""


@contextmanager
def others_are_quicker(world: World) -> Iterator[None]:
    """Every commit is refused, for others were quicker."""

    def refuse(*_: Any) -> Any:
        raise CommitFailedException("Requirement failed: branch main has changed")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.catalog, "commit_table", refuse)
        yield


def test_a_landing_that_another_one_overtook_leaves_what_waits_to_the_next(world: World) -> None:
    def other() -> None:
        land(SPEC, world.connections)
        world.produce(0)

    todo = todo_of(OvertakenError, lambda: land(SPEC, world.connections, on_step=once("written", other)))
    assert offsets(world) == [0, 1, 2]

    land(SPEC, world.connections)

    assert todo == "Nothing. Land again if more records wait."
    assert offsets(world) == [0, 1, 2, 3]


def test_a_landing_that_was_stopped_goes_on_where_the_last_commit_ended(world: World) -> None:
    def stop() -> None:
        raise _stopped()

    todo = todo_of(InterruptedWorkError, lambda: land(SPEC, world.connections, on_step=once("written", stop)))
    assert offsets(world) == [0, 1]

    assert todo == "Nothing: the next landing goes on where the last commit ended."
    assert land(SPEC, world.connections).records == 1
    assert offsets(world) == [0, 1, 2]


def test_a_redrive_that_another_one_overtook_leaves_no_dead_letter(world: World) -> None:
    world.produce(0, bad=True)
    land(SPEC, world.connections)
    again = once("written", lambda: redrive(SPEC, world.connections))

    todo = todo_of(OvertakenError, lambda: redrive(SPEC, world.connections, on_step=again))

    assert todo == "Nothing. Redrive again if dead letters are left."
    assert redrive(SPEC, world.connections).redriven == 0
    assert offsets(world) == [0, 1, 2, 3]


def test_a_landing_whose_table_got_other_partitions_meanwhile_is_made_again(world: World) -> None:
    parted = SPEC.model_copy(update={"partition_by": ["quantity"]})

    def others() -> None:
        arrange(parted, world.table)

    todo = todo_of(
        CommitConflictError, lambda: land(SPEC, world.connections, on_step=once("written", others))
    )
    assert offsets(world) == [0, 1]

    assert todo == "Try again."
    assert land(SPEC, world.connections).records == 1
    assert offsets(world) == [0, 1, 2]


def test_a_landing_whose_files_lack_a_row_is_made_again(world: World) -> None:
    world.produce(0)
    write = world.write_rows
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world, "write_rows", lambda table, rows: write(table, rows[1:]))
        todo = todo_of(AuditFailedError, lambda: land(SPEC, world.connections))

    land(SPEC, world.connections)

    assert "again. If it happens twice, it is a defect" in todo
    assert offsets(world) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("work", "expected", "left"),
    [
        (
            lambda world: land(SPEC, world.connections),
            "Try again; make upkeep or other writers less eager if it lasts.",
            [0, 1, 2],
        ),
        (
            lambda world: roll_back(SPEC, world.connections, snapshots(world)[1]),
            "Roll back again.",
            [0],
        ),
        (
            lambda world: arrange(
                SPEC.model_copy(update={"sort_by": ["quantity"]}),
                world.table,
            ),
            "Land again.",
            [0, 1],
        ),
        (
            lambda world: evolve(SPEC, world.table, WIDER),
            "Land again.",
            [0, 1],
        ),
        (
            lambda world: set_properties(TableHandle(world.catalog, NAME), {"note": "mine"}),
            "Try again.",
            [0, 1],
        ),
    ],
    ids=["landing", "rollback", "layout", "schema", "properties"],
)
def test_a_commit_that_others_were_quicker_than_is_made_again(
    world: World, work: Callable[[World], object], expected: str, left: list[int]
) -> None:
    with others_are_quicker(world):
        assert todo_of(CommitConflictError, lambda: work(world)) == expected
    assert offsets(world) == [0, 1]

    work(world)

    assert offsets(world) == left


def snapshots(world: World) -> list[int]:
    """Those of landings, newest first."""
    return [snapshot.snapshot_id for snapshot, _ in ledgers(world.table.metadata)]


def test_a_cut_is_made_once_the_pipeline_is_landed_and_by_a_name_as_told() -> None:
    with edges() as doubles:
        doubles.world = world = World(Dice())
        world.produce(0)
        ensure_table(
            SPEC, TableHandle(world.connections.catalog, NAME), RecordColumns(Struct(()), Struct(()))
        )
        name = todo_of(UsageError, lambda: begin_cut("Month 1", "shop", [SPEC], world.connections))
        todo = todo_of(NotYetError, lambda: begin_cut("2026-11", "shop", [SPEC], world.connections))

        land(SPEC, world.connections)

        assert name.endswith("such as 2026-11.")
        assert todo == "Land the whole pipeline once; then create the cut."
        assert begin_cut("2026-11", "shop", [SPEC], world.connections).is_complete
        assert offsets(world) == [0]


def test_a_replay_that_others_come_between_time_and_again_is_made_again(world: World) -> None:
    """At each of its tries the table was rolled back meanwhile."""
    land(SPEC, world.connections)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Replayed, "_is_behind", lambda *_: False)
        todo = todo_of(CommitConflictError, lambda: replay(SPEC, world.connections, {0: (0, 3)}))

    assert todo == "Replay again."
    assert replay(SPEC, world.connections, {0: (0, 3)}).replayed == 3
    assert offsets(world) == [0, 1, 2]


def test_records_that_vanish_while_they_are_read_are_told_by_the_next_landing(world: World) -> None:
    def retention() -> None:
        world.produce(0)
        world.topic.retain(0, 3)

    todo = todo_of(
        OffsetsLostError, lambda: land(STOPPING, world.connections, on_step=once("planned", retention))
    )
    assert todo == "Land again: the plan will say which offsets are lost."

    lost = todo_of(OffsetsLostError, lambda: land(STOPPING, world.connections))

    assert "--accept-loss 0:2-3" in lost
    land(STOPPING, world.connections, accept_loss={0: (2, 3)})
    assert offsets(world) == [0, 1, 3]


def test_records_that_are_removed_while_they_are_counted_are_told_by_the_next_landing(world: World) -> None:
    world.topic.produce(0, gap=True)  # so they are counted by a second reader

    def removed(*_: Any) -> Any:
        world.produce(0)
        world.topic.retain(0, 4)
        Probe(cast("Any", None), SPEC.topic)._check(KafkaError(KafkaError._AUTO_OFFSET_RESET))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("frazil.landing.audit.tally_records", removed)
        todo = todo_of(OffsetsLostError, lambda: land(STOPPING, world.connections))
    lost = todo_of(OffsetsLostError, lambda: land(STOPPING, world.connections))
    land(STOPPING, world.connections, accept_loss={0: (2, 4)})

    assert todo == "Land again: the next plan says which offsets are lost."
    assert "--accept-loss 0:2-4" in lost
    assert offsets(world) == [0, 1, 4]


NEXT_ONE = "Nothing: the next compaction takes the files that are there then."


def test_a_compaction_that_others_overtook_leaves_the_files_to_the_next_one(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "frazil")
    land(SPEC, world.connections)
    compacted(world, once("written", lambda: compacted(world)))
    world.produce(0)
    land(SPEC, world.connections)
    compacted(world)

    assert NEXT_ONE in caplog.text
    assert len(files(world)) == 1
    assert offsets(world) == [0, 1, 2, 3]


def test_a_compaction_whose_file_went_leaves_the_files_to_the_next_one(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "frazil")
    land(SPEC, world.connections)

    def gone(*_: Any) -> Any:
        with spark_job(compaction_job(NAME)):
            raise PySparkException("org.apache.iceberg.exceptions.NotFoundException: s3://lake/a.parquet")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.store, "rows_of", gone)
        compacted(world)
    before = files(world)
    compacted(world)

    assert NEXT_ONE in caplog.text
    assert (len(before), len(files(world))) == (3, 1)
    assert offsets(world) == [0, 1, 2]


def compacted(world: World, on_step: Callable[[str], None] = lambda _: None) -> object:
    """What a compaction of everything reports."""
    return compact(SPEC, world.connections, world.store.now, Order(everything=True), on_step=on_step)


def files(world: World) -> list[str]:
    """Those of the head."""
    head = HeadReader().read(world.table)
    assert head
    return sorted(head.entries)


def test_a_table_that_only_others_can_write_stays_readable_and_the_topic_lands_into_another(
    world: World,
) -> None:
    metadata, location = world.catalog.tables[NAME.identifier]
    newer = metadata.model_copy(update={"format_version": NEWEST_FORMAT + 1})
    world.catalog.tables[NAME.identifier] = newer, location
    todo = todo_of(DifferentError, lambda: land(SPEC, world.connections))

    land(SPEC.model_copy(update={"table": "other"}), world.connections)

    other = world.catalog.look(("n", "other"))
    assert todo == "Give the table another name in the spec. This one stays readable."
    assert (offsets(world), offsets(world, other)) == ([0, 1], [0, 1, 2])
