"""Looking whether targets show tables as they are: what rests is cheap, what is odd is compared in full."""

from __future__ import annotations

from typing import Any

import pytest

from frazil.checks.layers.watch import PATIENCE, TURN_EVERY, Look, Watch, patience_of
from frazil.errors import PartDownError
from frazil.spec.topic import TableSpec
from kit.readers.mirrored import NAME, Mirror, Standing, one_record
from kit.runs.continuous import Clock
from kit.wires.wire import Wire


@pytest.fixture
def mirror(standing: Standing) -> Mirror:
    """A row, which Glue shows."""
    spec = TableSpec(topic="orders", namespace=NAME.namespace, publish=["glue"])
    return standing.shown(spec, 1, one_record)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def watch(mirror: Mirror, clock: Clock) -> Watch:
    """One who knows that the table is in step."""
    watch = Watch(clock)
    watch.look([mirror.spec], mirror.connections)
    return watch


def states(look: Look) -> list[str]:
    return [drift.state for drift in look.drifts]


def looks(watch: Watch, mirror: Mirror, clock: Clock, *later: float) -> list[list[str]]:
    """What is compared in full at each of some looks, and how it comes out."""
    seen = []
    for seconds in later:
        clock.now += seconds
        seen.append(states(watch.look([mirror.spec], mirror.connections)))
    return seen


def test_a_table_is_compared_in_full_once_and_then_rests(mirror: Mirror, clock: Clock, wire: Wire) -> None:
    watch = Watch(clock)

    first = looks(watch, mirror, clock, 0)
    before = len(wire.asked)
    rest = looks(watch, mirror, clock, 60, 60, TURN_EVERY)

    assert (first, rest) == ([["in step"]], [[], [], []])
    assert [asked.operation for asked in wire.asked[before:]] == ["GetTable"] * 3


def test_a_target_that_does_not_follow_is_compared_until_it_does(
    watch: Watch, mirror: Mirror, clock: Clock
) -> None:
    mirror.land()
    patient = looks(watch, mirror, clock, 60, 60, 60)
    late = looks(watch, mirror, clock, 60, 60)
    mirror.sync()
    follows = looks(watch, mirror, clock, 60, 60)

    assert patient == [[], [], []]
    assert late == [["behind"], ["behind"]]
    assert follows == [["in step"], []]


def test_a_table_that_is_busy_and_followed_is_at_rest(watch: Watch, mirror: Mirror, clock: Clock) -> None:
    """It is never in step at a look, but the target moves on between two of them."""
    seen = []
    for _ in range(8):
        mirror.sync()
        mirror.land()
        seen += looks(watch, mirror, clock, 60)

    assert seen == [[]] * 8


def test_a_shorter_limit_makes_it_less_patient(mirror: Mirror) -> None:
    limits = {"glue": {"warn": "30s", "error": "1h"}, "iceberg": "1s"}

    assert patience_of(mirror.spec) == PATIENCE
    assert patience_of(TableSpec(topic="t", publish=["glue"], fresh_within=limits)) == 30


def test_columns_that_others_changed_are_odd_at_once(watch: Watch, mirror: Mirror, clock: Clock) -> None:
    glue: Any = mirror.connections.glue
    entry = glue.get_table(DatabaseName=mirror.folder.name, Name=NAME.table)["Table"]
    columns = [{**entry["StorageDescriptor"]["Columns"][0], "Comment": "by hand"}]
    wanted = {name: entry[name] for name in ("Name", "TableType", "Parameters")}
    wanted["StorageDescriptor"] = {**entry["StorageDescriptor"], "Columns": columns}
    glue.update_table(DatabaseName=mirror.folder.name, TableInput=wanted)

    assert looks(watch, mirror, clock, 1) == [["columns"]]


def test_notes_of_frazil_s_own_are_looked_at_once(watch: Watch, mirror: Mirror, clock: Clock) -> None:
    with mirror.table.transaction() as tx:
        tx.set_properties({"frazil.note": "nothing that a reader sees"})

    assert looks(watch, mirror, clock, 60, PATIENCE, 60, 60) == [[], ["in step"], [], []]


def test_a_table_that_nobody_has_made_is_none_of_its_business(mirror: Mirror, clock: Clock) -> None:
    other = TableSpec(topic="nobody", namespace=NAME.namespace, publish=["glue"])
    nowhere = TableSpec(topic="hidden", namespace=NAME.namespace, publish=[])

    look = Watch(clock).look([other, nowhere], mirror.connections)

    assert (look.drifts, look.looked_at) == ([], 1)


def test_a_glue_that_is_down_is_one_cause_and_no_table_is_compared(
    watch: Watch, mirror: Mirror, clock: Clock, wire: Wire
) -> None:
    others = [TableSpec(topic=f"t{n}", namespace="unit", publish=["glue"]) for n in range(9)]
    wire.always("unsent", lambda asked: True)

    look = watch.look([mirror.spec, *others], mirror.connections)

    error, count = look.silent["glue"]
    assert (look.drifts, count, look.answered) == ([], 10, frozenset())
    assert isinstance(error, PartDownError)
