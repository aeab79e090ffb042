"""Cuts: tags on exactly what a topic held at one moment, whoever lands; no server is asked (`kit.model`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from requests.exceptions import ReadTimeout

from frazil.errors import CommitUnknownError, NotYetError, OvertakenError, RetryError, UsageError
from frazil.landing import plan
from frazil.landing.cut.create import begin_cut
from frazil.landing.cut.listing import Cut, drop_cut, members_of, read_cuts
from frazil.landing.land import land
from frazil.landing.position.ledger import ledger_of, read_ledger
from frazil.upkeep.expiry.expiry import expire
from kit.model.parts.edges import edges
from kit.model.parts.stage import Dice
from kit.model.world import SPEC, World


@pytest.fixture
def world() -> Iterator[World]:
    with edges() as doubles:
        doubles.world = world = World(Dice())
        for partition in (0, 1):
            world.topic.produce(partition)
        land(SPEC, world.connections)
        yield world


def test_a_landing_ends_at_the_cut_is_tagged_in_its_own_commit_and_goes_on_behind_it(world: World) -> None:
    world.topic.produce(0)
    begun = begin(world)
    world.topic.produce(0)
    world.topic.produce(1)

    report = land(SPEC, world.connections)

    assert (begun.state, begun.tables[0].waiting) == ("incomplete", 1)
    assert (report.records, report.landings) == (3, 2)
    assert newest_cut(world).state == "complete"
    assert rows_of_tag(world) == [("log1", 0, 0), ("log1", 0, 1), ("log1", 1, 0)]
    assert position_of_tag(world) == {0: 2, 1: 1}


def test_a_table_that_holds_all_there_is_is_tagged_at_once(world: World) -> None:
    cut = begin(world)
    world.topic.produce(1)
    land(SPEC, world.connections)

    assert cut.is_complete
    assert rows_of_tag(world) == [("log1", 0, 0), ("log1", 1, 0)]


def test_a_landing_that_was_under_way_does_not_go_past_the_cut(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = plan.topic_facts
    began: list[Cut] = []

    def between(*args: object) -> object:
        if not began:
            end = world.topic.end[0]
            world.topic.end[0] = end - 1  # the cut is asked for before the last record came
            began.append(begin(world))
            world.topic.end[0] = end
        return read(*args)

    for _ in range(2):
        world.topic.produce(0)
    monkeypatch.setattr(plan, "topic_facts", between)

    with pytest.raises(OvertakenError, match="cut month was begun"):
        land(SPEC, world.connections)
    assert read_ledger(world.table.metadata).position == {0: 1, 1: 1}

    land(SPEC, world.connections)
    assert position_of_tag(world) == {0: 2, 1: 1}
    assert read_ledger(world.table.metadata).position == {0: 3, 1: 1}


def test_where_landings_are_past_the_end_each_time_there_is_no_cut_at_all(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def late(_admin: object, topics: object) -> object:
        facts = world.topic.facts
        world.topic.produce(0)
        land(SPEC, world.connections)
        asked.append(1)
        return dict.fromkeys(topics, facts)

    monkeypatch.setattr("frazil.landing.cut.create.topic_facts", late)

    with pytest.raises(RetryError, match="No moment was found"):
        begin(world)
    assert len(asked) == 5
    assert cuts(world) == []
    assert not [ref for ref in world.table.metadata.refs if ref != "main"]


def test_the_same_command_goes_on_and_refuses_a_cut_that_is_complete(world: World) -> None:
    world.topic.produce(0)
    first, again = begin(world), begin(world)
    assert first == again

    land(SPEC, world.connections)

    with pytest.raises(UsageError, match="already"):
        begin(world)


def test_of_two_that_begin_the_same_cut_at_once_the_later_one_has_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(world)
    world.topic.produce(1)
    land(SPEC, world.connections)

    with monkeypatch.context() as patch:
        patch.setattr("frazil.landing.cut.create.read_cuts", lambda _: [])  # it looked before the first one
        cut = begin(world)

    assert cut.is_complete
    assert position_of_tag(world) == {0: 1, 1: 2}


def test_upkeep_keeps_a_tagged_snapshot_until_its_time_is_over(world: World) -> None:
    begin(world, keep=timedelta(hours=10))
    for _ in range(3):
        world.topic.produce(0)
        land(SPEC, world.connections)

    world.store.now += 9 * 3600
    expire(SPEC, world.connections, world.store.now)
    assert rows_of_tag(world) == [("log1", 0, 0), ("log1", 1, 0)]

    world.topic.produce(0)
    land(SPEC, world.connections)
    world.store.now += 2 * 3600
    expire(SPEC, world.connections, world.store.now)

    assert newest_cut(world).state == "gone"
    assert "cut_month" not in world.table.metadata.refs


def test_a_dropped_cut_leaves_nothing(world: World) -> None:
    begin(world)
    drop_cut("month", members_of([SPEC], world.connections))

    assert cuts(world) == []
    assert not [ref for ref in world.table.metadata.refs if ref != "main"]
    assert not [key for key in world.table.properties if key.startswith("frazil.cut")]


def test_a_request_whose_outcome_nobody_knows_leaves_no_tag_however_late_it_arrives(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog, late, silent = world.catalog, list[Callable[[], object]](), [True]

    def lost(*of: Any) -> object:
        if late:
            return send(*of)
        late.append(partial(send, *of))
        raise ReadTimeout("Read timed out.")

    def unanswered(identifier: Any) -> Table:
        silent[0] = silent[0] and world.store.now - begun < 200
        if late and silent[0]:
            world.store.now += 10
            raise ReadTimeout("Read timed out.")
        return load(identifier)

    send, load, begun = catalog.commit_table, catalog.load_table, world.store.now
    monkeypatch.setattr(catalog, "commit_table", lost)
    monkeypatch.setattr(catalog, "load_table", unanswered)

    with pytest.raises(CommitUnknownError, match="cut"):
        begin(world)
    with pytest.raises(CommitFailedException):
        late[0]()

    assert cuts(world) == []
    assert [ref for ref in world.table.metadata.refs if ref.startswith("cut_")] == []
    assert begin(world).is_complete


def test_a_table_that_holds_nothing_yet_and_a_name_that_is_none_are_refused(world: World) -> None:
    with pytest.raises(UsageError, match="can't name a cut"):
        begin_cut("Month 1", "shop", [SPEC], world.connections)
    world.topic.begin_anew()
    with pytest.raises(Exception, match="recreated"):
        begin(world)
    assert cuts(world) == []
    del world.catalog.tables[("n", "t")]
    with pytest.raises(NotYetError):
        begin(world)


def begin(world: World, keep: timedelta | None = None) -> Cut:
    return begin_cut("month", "shop", [SPEC], world.connections, keep=keep)


def cuts(world: World) -> list[Cut]:
    return read_cuts(members_of([SPEC], world.connections))


def newest_cut(world: World) -> Cut:
    (cut,) = cuts(world)
    return cut


def rows_of_tag(world: World) -> list[tuple[str, int, int]]:
    ref = world.table.metadata.refs["cut_month"]
    assert ref.snapshot_ref_type.value == "tag"
    return sorted(tuple(row) for row in world.store.rows(world.table, ref.snapshot_id))


def position_of_tag(world: World) -> dict[int, int]:
    snapshot = world.table.metadata.snapshot_by_id(world.table.metadata.refs["cut_month"].snapshot_id)
    return dict(ledger_of(snapshot).position)
