"""A paused table: nobody lands into it until it is resumed; all else goes on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from frazil.checks.run import run_check
from frazil.errors import NotYetError, PausedError, SchemaRefusedError, StopError
from frazil.landing.arrivals import look_for_arrivals
from frazil.landing.halts.halt import halt
from frazil.landing.halts.pause import pause, paused
from frazil.landing.halts.resume import refuse_running, resume
from frazil.landing.land import land
from frazil.landing.position.ledger import ledgers, read_ledger
from frazil.landing.position.state import TableState, table_states
from frazil.landing.repairs.redrive import redrive
from frazil.landing.repairs.rollback import roll_back
from frazil.landing.schema.evolve import fitting
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.suspension import TABLEFLOW
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.kind import Order
from kit.model.parts.edges import edges
from kit.model.parts.stage import Dice
from kit.model.world import NAME, SPEC, World

SUSPENDING = SPEC.model_copy(update={"on_bad_record": "suspend"})


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A table that holds one record of its topic, and does not hold a second one."""
    with edges() as doubles:
        for module in ("arrivals", "position.state"):
            monkeypatch.setattr(f"frazil.landing.{module}.known_facts", doubles.known_facts)
        doubles.world = world = World(Dice())
        world.topic.produce(0)
        land(SPEC, world.connections)
        world.topic.produce(0)
        yield world


def state(world: World) -> TableState:
    return table_states([SPEC], world.connections)[0]


def test_nothing_lands_until_it_is_resumed_and_then_all_that_waited(world: World) -> None:
    report = pause(SPEC, world.connections, "the schema moves", by="ann")
    with pytest.raises(PausedError, match=r"is paused by ann on [-\d]+ [:\d]+ UTC: the schema moves"):
        land(SPEC, world.connections)
    asleep = state(world)

    resumed = resume(SPEC, world.connections)

    assert (report.changed, report.position) == (True, {0: 1, 1: 0})
    assert (asleep.state, asleep.lag, asleep.position) == ("paused", 1, {0: 1, 1: 0})
    assert asleep.reason == report.reason
    assert (resumed.records, state(world).state) == (1, "current")


def test_a_landing_that_is_under_way_is_dropped_whatever_it_has_done(world: World) -> None:
    def pause_when(done: str) -> None:
        if done == "audited":
            pause(SPEC, world.connections, "now")

    with pytest.raises(PausedError):
        land(SPEC, world.connections, on_step=pause_when)

    assert state(world).position == {0: 1, 1: 0}
    assert world.branches == []


def test_a_landing_whose_commit_was_staged_before_the_pause_is_dropped_too(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looked at the table's properties before the pause, and is sent behind it."""
    catalog, sent = world.connections.catalog, []
    commit = catalog.commit_table

    def late(table: object, requirements: tuple[object, ...], updates: tuple[object, ...]) -> object:
        if "frazil.spans" in str(updates) and not sent:
            sent.append(updates)
            pause(SPEC, world.connections, "now")
        return commit(table, requirements, updates)

    monkeypatch.setattr(catalog, "commit_table", late)
    with pytest.raises(PausedError):
        land(SPEC, world.connections)

    assert sent
    assert state(world).position == {0: 1, 1: 0}


def test_the_arrivals_sensor_and_the_runner_leave_it_alone_and_say_so(world: World) -> None:
    pause(SPEC, world.connections, "now")

    seen = look_for_arrivals([SPEC], world.connections)

    assert (seen.due, seen.blocked) == ((), {str(NAME): "paused"})
    assert paused([SPEC], world.connections) == [SPEC]


def test_its_freshness_warns_and_its_rows_add_up(world: World) -> None:
    pause(SPEC, world.connections, "the disk is full", by="ann")

    fresh = run_check("freshness", SPEC, world.connections)
    counted = run_check("row_count", SPEC, world.connections)

    assert (fresh.passed, fresh.severity) == (False, "WARN")
    assert "stopped (paused): paused by ann" in fresh.text
    assert "the disk is full" in fresh.text
    assert counted.passed


def test_a_pause_is_noted_in_the_history_and_is_no_landing(world: World) -> None:
    landed_at = state(world).landed_at
    report = pause(SPEC, world.connections, "now", by="ann")

    _, entry = next(ledgers(world.table.metadata))

    assert (entry.because, entry.records, entry.is_landing) == (report.reason, 0, False)
    assert state(world).landed_at == landed_at


def test_who_pauses_it_again_hears_who_did_so_first(world: World) -> None:
    first = pause(SPEC, world.connections, "now", by="ann")
    again = pause(SPEC, world.connections, "later", by="bob")

    assert (again.changed, again.reason, again.position) == (False, first.reason, first.position)


def test_repairs_and_upkeep_go_on_and_do_not_end_it(world: World) -> None:
    world.topic.produce(0, bad=True)
    land(SPEC, world.connections)
    pause(SPEC, world.connections, "to redrive in peace")

    redriven = redrive(SPEC, world.connections)
    compact(SPEC, world.connections, world.store.now, Order(everything=True))

    assert redriven.redriven == 1
    assert state(world).state == "paused"


def test_a_rollback_does_not_start_it(world: World) -> None:
    first = world.table.current_snapshot().snapshot_id
    land(SPEC, world.connections)
    pause(SPEC, world.connections, "to look at it")

    roll_back(SPEC, world.connections, first)

    assert (state(world).state, state(world).position) == ("paused", {0: 1, 1: 0})
    assert resume(SPEC, world.connections).records == 1


def test_neither_a_bad_record_nor_a_schema_that_is_found_meanwhile_takes_its_place(world: World) -> None:
    world.topic.produce(0, bad=True)

    def pause_when(done: str) -> None:
        if done == "written":
            pause(SPEC, world.connections, "now")

    def refused() -> None:
        raise SchemaRefusedError("It does not fit.", where="field a")

    with pytest.raises(PausedError):
        land(SUSPENDING, world.connections, on_step=pause_when)
    with pytest.raises(SchemaRefusedError):
        fitting(TableHandle(world.connections.catalog, NAME), refused)

    assert state(world).state == "paused"
    assert "paused on" in state(world).reason


def test_only_what_is_stopped_is_resumed_and_only_what_was_landed_is_paused(world: World) -> None:
    with pytest.raises(StopError, match="neither suspended nor paused"):
        refuse_running(SPEC, world.connections)
    pause(SPEC, world.connections, "now")
    refuse_running(SPEC, world.connections)

    with pytest.raises(NotYetError):
        pause(SPEC.model_copy(update={"table": "another"}), world.connections, "now")


def test_a_topic_that_was_released_to_tableflow_is_not_paused(world: World) -> None:
    halt(
        TableHandle(world.connections.catalog, NAME),
        TABLEFLOW,
        "released",
        lambda _: "released to Tableflow at 0:1",
    )

    with pytest.raises(StopError, match="was released to Tableflow"):
        pause(SPEC, world.connections, "now")

    assert state(world).state == "suspended"
    assert read_ledger(world.table.metadata)
