"""What errors tell people to do is done, on tables in memory: only what is named is lost."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from frazil.errors import (
    CommitConflictError,
    ConfigureError,
    MissingError,
    NotYetError,
    OffsetsLostError,
    PositionLostError,
    RepairError,
    RetryError,
    StopError,
    TopicChangedError,
    UsageError,
)
from frazil.formats.columns.columns import RecordColumns
from frazil.formats.logical import Struct
from frazil.landing.cut.create import begin_cut
from frazil.landing.cut.listing import cut_named, drop_cut, members_of
from frazil.landing.halts.pause import pause
from frazil.landing.halts.resume import refuse_running, resume
from frazil.landing.land import land
from frazil.landing.position.ledger import Span, ledgers, read_ledger
from frazil.landing.repairs.acceptance import accept
from frazil.landing.repairs.rollback import roll_back
from frazil.landing.replay.run import replay
from frazil.landing.report import LandingReport
from frazil.landing.schema.tables import ensure_table
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.filters import parse_filter
from frazil.tables.rewrites import remainder
from frazil.tables.spark.faults import files_there
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.kind import Order
from kit.model.parts.edges import edges
from kit.model.parts.stage import Dice
from kit.model.works.foreign import delete
from kit.model.world import NAME, SPEC, World


@pytest.fixture
def world() -> Iterator[World]:
    """A table of three landings: two records of partition 0, one of partition 1."""
    with edges() as doubles:
        doubles.world = world = World(Dice())
        for partition in (0, 1, 0):
            world.produce(partition)
            land(SPEC, world.connections)
        yield world
        assert world.oracle.broken is None


def rows(world: World) -> list[tuple[int, int]]:
    """Partition and offset of each row."""
    head = world.table.metadata.current_snapshot_id
    return sorted((partition, offset) for _, partition, offset in world.store.rows(world.table, head))


def landings(world: World) -> list[int]:
    """The snapshots that landings made, newest first."""
    return [snapshot.snapshot_id for snapshot, _ in ledgers(world.table.metadata)]


def files(world: World, snapshot: int) -> set[str]:
    """The data files of a snapshot."""
    manifests = world.store.manifests(world.table, world.table.metadata.snapshot_by_id(snapshot))
    return {entry.path for manifest in manifests for entry in world.store.named(manifest)}


def arguments_in(todo: str, command: str) -> list[str]:
    """What an advice says behind a command and the table's name."""
    (line,) = re.findall(rf"`frazil {command} {re.escape(str(NAME))} ?([^`]*)`", todo)
    return str(line).split()


def spans(words: list[str]) -> dict[int, Span]:
    """What `--accept-loss` names."""
    places = [tuple(map(int, re.split("[:-]", word))) for word in words if word != "--accept-loss"]
    return {partition: (start, to) for partition, start, to in places}


def vandalize(world: World, *, copy: bool) -> None:
    """Another engine writes over what Frazil noted, in a snapshot or in the properties, too."""
    table = world.catalog.load_table(NAME.identifier)
    summary = read_ledger(table.metadata).properties() | {"frazil.records": "many"}
    oracle, world.catalog.law.seen = world.catalog.law.seen, lambda _: None  # it reads every note
    with table.transaction() as tx:
        if copy:
            tx.set_properties(summary)
        with tx.update_snapshot(snapshot_properties=summary).fast_append():
            pass
    world.catalog.law.seen = oracle


@pytest.mark.parametrize("copy", [False, True], ids=["in the newest snapshot", "in the table's copy, too"])
def test_a_note_that_cannot_be_read_is_left_behind_by_a_rollback_and_all_is_landed_again(
    world: World, copy: bool
) -> None:
    """The rollback that the error names read the same note, and ended with the same error."""
    good = landings(world)
    vandalize(world, copy=copy)
    world.produce(1)
    with pytest.raises(PositionLostError, match="can't be read") as refused:
        land(SPEC, world.connections)

    roll_back(SPEC, world.connections, good[1])
    land(SPEC, world.connections)

    assert "`frazil rollback TABLE --to SNAPSHOT`" in refused.value.todo
    assert rows(world) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    world.at_rest()


def test_a_rollback_past_such_a_note_is_refused_where_the_topic_may_have_lost_what_was_landed(
    world: World,
) -> None:
    good = landings(world)
    vandalize(world, copy=False)
    world.topic.retain(0, 2)

    with pytest.raises(OffsetsLostError, match="no longer holds 1 offsets"):
        roll_back(SPEC, world.connections, good[1])

    roll_back(SPEC, world.connections, good[0])
    assert rows(world) == [(0, 0), (0, 1), (1, 0)]


def test_rows_that_another_engine_deleted_are_there_again_after_the_rollback_that_the_error_names(
    world: World,
) -> None:
    """It named no snapshot: the command line did not take it."""
    world.stage.play({"engine": partial(delete, world, random.Random(1))})
    assert len(rows(world)) < 3
    world.produce(1)
    land(SPEC, world.connections)
    with pytest.raises(RepairError, match="nobody has accepted") as refused:
        replay(SPEC, world.connections, {0: (0, 1)})

    option, to = arguments_in(refused.value.todo, "rollback")
    roll_back(SPEC, world.connections, int(to))
    replay(SPEC, world.connections, {0: (0, 1)})
    land(SPEC, world.connections)

    assert option == "--to"
    assert rows(world) == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_where_the_snapshot_before_another_engines_is_gone_no_rollback_to_it_is_offered(world: World) -> None:
    world.stage.play({"engine": partial(delete, world, random.Random(1))})
    foreign = world.table.metadata.current_snapshot()
    assert foreign
    gone = [s.snapshot_id for s in world.table.metadata.snapshots if s.snapshot_id != foreign.snapshot_id]
    table = world.catalog.load_table(NAME.identifier)
    table.maintenance.expire_snapshots().by_ids(gone).commit()

    with pytest.raises(RepairError) as refused:
        replay(SPEC, world.connections, {0: (0, 1)})

    assert arguments_in(refused.value.todo, "accept")[:2] == ["--snapshot", str(foreign.snapshot_id)]
    assert "rollback" not in refused.value.todo


def test_what_is_no_commit_of_others_is_not_accepted_and_the_table_is_as_it_was(world: World) -> None:
    with pytest.raises(ConfigureError, match="no commit of others"):
        accept(SPEC, world.connections, landings(world)[0], "it was mine")


STOPPING = SPEC.model_copy(update={"on_lost_records": "stop"})


def test_a_rollback_over_records_that_the_topic_has_lost_gives_up_those_only(world: World) -> None:
    first = landings(world)[-1]
    world.topic.retain(0, 2)
    world.topic.produce(0)
    with pytest.raises(OffsetsLostError, match="no longer holds 1 offsets") as refused:
        roll_back(STOPPING, world.connections, first)

    roll_back(STOPPING, world.connections, first, accept_loss=True)
    with pytest.raises(OffsetsLostError) as lost:
        land(STOPPING, world.connections)
    land(STOPPING, world.connections, accept_loss=spans(arguments_in(lost.value.todo, "land")))

    assert "--accept-loss rolls back" in refused.value.todo
    assert rows(world) == [(0, 0), (0, 2), (1, 0)]


def test_a_topic_that_is_there_again_is_landed_beside_the_rows_of_the_one_that_went(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It told to drop the table from its pipeline: who drops a table has no rows."""

    def gone(*_: Any) -> Any:
        raise NotYetError("Topic t does not exist.")

    with monkeypatch.context() as patch:
        patch.setattr("frazil.landing.land.topic_fact", gone)
        with pytest.raises(TopicChangedError, match="was deleted") as refused:
            land(SPEC, world.connections)
    world.topic.begin_anew()
    world.produce(0)
    with pytest.raises(TopicChangedError, match="recreated"):
        land(SPEC, world.connections)

    land(SPEC, world.connections, adopt_topic=arguments_in(refused.value.todo, "land") == ["--adopt-topic"])

    assert rows(world) == [(0, 0), (0, 0), (0, 1), (1, 0)]


def test_a_cut_that_found_no_moment_is_made_of_a_table_that_is_paused_and_holds_all_up_to_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`frazil resume` alone is refused: it wants tables, or their pipeline."""
    before = replace(world.topic.facts, end={0: 1, 1: 1})  # the newest record is landed by now
    with monkeypatch.context() as patch:
        patch.setattr("frazil.landing.cut.create.topic_facts", lambda *_: {"t": before})
        with pytest.raises(RetryError, match="No moment") as refused:
            begin_cut("month", "shop", [SPEC], world.connections)

    pause(SPEC, world.connections, "cut")
    world.produce(0)
    begin_cut("month", "shop", [SPEC], world.connections)
    world.produce(0)
    resume(SPEC, world.connections)

    assert "`frazil pause --pipeline shop --because cut`" in refused.value.todo
    assert "`frazil resume --pipeline shop`" in refused.value.todo
    (table,) = cut_named("month", members_of([SPEC], world.connections)).tables
    assert table.waiting == 0
    assert len(rows(world)) == 5


def test_a_cut_is_begun_anew_under_its_name_once_the_old_one_is_dropped(world: World) -> None:
    begin_cut("month", "shop", [SPEC], world.connections)
    with pytest.raises(UsageError, match="already") as refused:
        begin_cut("month", "shop", [SPEC], world.connections)
    world.produce(0)
    land(SPEC, world.connections)
    before = rows(world)

    assert "`frazil cut drop month`" in refused.value.todo
    drop_cut("month", members_of([SPEC], world.connections))
    assert begin_cut("month", "shop", [SPEC], world.connections).is_complete
    assert rows(world) == before


def test_a_cut_of_a_topic_that_was_made_again_is_made_once_the_landing_went_on(world: World) -> None:
    world.topic.begin_anew()
    world.produce(1)
    with pytest.raises(TopicChangedError, match="recreated") as refused:
        begin_cut("month", "shop", [SPEC], world.connections)
    with pytest.raises(TopicChangedError) as raised:
        land(SPEC, world.connections)

    land(SPEC, world.connections, adopt_topic=arguments_in(raised.value.todo, "land") == ["--adopt-topic"])

    assert arguments_in(refused.value.todo, "land") == []
    assert begin_cut("month", "shop", [SPEC], world.connections).is_complete
    assert len(rows(world)) == 4


def test_a_table_that_runs_is_landed_and_not_resumed(world: World) -> None:
    world.produce(0)
    with pytest.raises(StopError, match="neither suspended nor paused") as refused:
        refuse_running(SPEC, world.connections)

    assert arguments_in(refused.value.todo, "land") == []
    assert land(SPEC, world.connections).records == 1


def test_a_replay_that_asks_for_more_than_the_table_holds_is_done_within_it_and_the_rest_is_landed(
    world: World,
) -> None:
    world.produce(0)
    with pytest.raises(UsageError, match="is not within") as refused:
        replay(SPEC, world.connections, {0: (0, 3)})

    replay(SPEC, world.connections, {0: (0, 2)})
    land(SPEC, world.connections)

    assert arguments_in(refused.value.todo, "land") == []
    assert rows(world) == [(0, 0), (0, 1), (0, 2), (1, 0)]


def test_a_replay_of_what_was_never_landed_is_done_once_it_is(world: World) -> None:
    with edges() as doubles:
        doubles.world = empty = World(Dice())
        empty.produce(0)
        ensure_table(
            SPEC, TableHandle(empty.connections.catalog, NAME), RecordColumns(Struct(()), Struct(()))
        )
        with pytest.raises(NotYetError, match="Nothing was landed") as refused:
            replay(SPEC, empty.connections, {0: (0, 1)})

        land(SPEC, empty.connections)

        assert arguments_in(refused.value.todo, "land") == []
        assert replay(SPEC, empty.connections, {0: (0, 1)}).replayed == 1


def test_a_table_that_holds_nothing_is_not_stopped_and_frazil_leaves_it_to_tableflow_by_its_mode(
    world: World,
) -> None:
    with edges() as doubles:
        doubles.world = empty = World(Dice())
        empty.produce(0)
        ensure_table(
            SPEC, TableHandle(empty.connections.catalog, NAME), RecordColumns(Struct(()), Struct(()))
        )
        with pytest.raises(NotYetError, match="Nothing was landed") as refused:
            pause(SPEC, empty.connections, "it is Tableflow's")

        assert "write mode: tableflow" in refused.value.todo
        with pytest.raises(ConfigureError, match="Frazil only reads it"):
            land(SPEC.model_copy(update={"mode": "tableflow"}), empty.connections)


def test_a_table_that_is_not_there_is_made_by_its_landing(world: World) -> None:
    with edges() as doubles:
        doubles.world = empty = World(Dice())
        empty.produce(0)
        with pytest.raises(MissingError) as refused:
            TableHandle(empty.connections.catalog, NAME).load()

        land(SPEC, empty.connections)

        assert arguments_in(refused.value.todo, "land") == []
        assert rows(empty) == [(0, 0)]


def test_a_cut_that_nobody_made_is_made_by_the_command_that_is_named(world: World) -> None:
    members = members_of([SPEC], world.connections)
    with pytest.raises(UsageError, match="There is no cut month") as refused:
        cut_named("month", members)

    begin_cut("month", "shop", [SPEC], world.connections)

    assert "`frazil cut create NAME --pipeline P` makes one" in refused.value.todo
    assert cut_named("month", members).is_complete
    with pytest.raises(UsageError, match="There is no cut year") as other:
        cut_named("year", members)
    assert other.value.todo == "Known are month."


def test_a_file_that_is_lost_is_left_behind_by_a_rollback_and_its_records_are_landed_again(
    world: World,
) -> None:
    newest, before, *_ = landings(world)
    (lost,) = files(world, newest) - files(world, before)
    with pytest.raises(CommitConflictError) as refused, files_there(world.table):
        raise FileNotFoundError(lost)

    roll_back(SPEC, world.connections, before)
    land(SPEC, world.connections)

    assert "`frazil rollback TABLE --to SNAPSHOT`" in refused.value.todo
    assert rows(world) == [(0, 0), (0, 1), (1, 0)]
    assert lost not in files(world, world.table.metadata.current_snapshot_id)


def test_a_filter_is_written_over_the_columns_that_are_named(world: World) -> None:
    schema = Schema(NestedField(1, "reason_code", StringType()), NestedField(2, "offset", LongType()))
    with pytest.raises(UsageError, match="is no filter over dead letters") as refused:
        parse_filter(schema, "because = 'schema_id'", "dead letters", "")

    columns = refused.value.todo.rpartition("columns: ")[2].rstrip(".").split(", ")

    assert columns == ["reason_code", "offset"]
    written = f"{columns[0]} = 'schema_id' and {columns[1]} > 3 or not {columns[1]} in (1)"
    assert parse_filter(schema, written, "", "")


def test_a_landing_that_takes_too_long_is_through_with_fewer_records_at_a_time(world: World) -> None:
    world.lane = True
    for _ in range(4):
        world.produce(0)

    def lands(spec: TableSpec) -> LandingReport:
        """Each record takes three hours."""

        def later(step: str) -> None:
            if step == "written":
                world.store.now += 3 * 3600 * min(4, spec.max_records)

        return land(spec, world.connections, on_step=later)

    with pytest.raises(RetryError, match="took so long") as refused:
        lands(SPEC)

    report = lands(SPEC.model_copy(update={"max_records": 1}))

    assert "lower max_records" in refused.value.todo
    assert (report.records, report.landings) == (4, 4)
    assert len(rows(world)) == 7


def test_a_file_whose_statistics_lie_is_found_once_a_compaction_wrote_it_anew(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    lying, honest = files(world, landings(world)[0]), remainder.files_matching

    def by_statistics(*args: Any) -> Any:
        matching = honest(*args)
        return replace(matching, entries=[e for e in matching.entries if e.data_file.file_path not in lying])

    monkeypatch.setattr(remainder, "files_matching", by_statistics)
    with pytest.raises(CommitConflictError, match="leave out a file") as refused:
        replay(SPEC, world.connections, {0: (0, 2)})

    compact(SPEC, world.connections, world.store.now, Order(everything=True))

    assert arguments_in(refused.value.todo, "compact") == ["--everything"]
    assert replay(SPEC, world.connections, {0: (0, 2)}).replayed == 2
    assert rows(world) == [(0, 0), (0, 1), (1, 0)]
