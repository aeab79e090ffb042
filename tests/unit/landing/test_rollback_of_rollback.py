"""A rollback is rolled back: what it took away is there again, and is not landed twice (`kit.model`)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from frazil.errors import MissingError
from frazil.landing.land import land
from frazil.landing.position.ledger import ledgers, read_ledger
from frazil.landing.repairs.rollback import roll_back
from kit.model.parts.edges import edges
from kit.model.parts.stage import Dice
from kit.model.world import World


@pytest.fixture(params=[False, True], ids=["a row per record", "a row per key"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with edges() as doubles:
        doubles.world = world = World(Dice(), keyed=request.param)
        for partition in (0, 1, 0):
            world.produce(partition)
            land(world.spec, world.connections)
        yield world


def test_what_a_rollback_took_away_comes_back_with_its_position(world: World) -> None:
    newest, *_, first = (snapshot.snapshot_id for snapshot, _ in ledgers(world.table.metadata))
    rows = world.store.rows(world.table, newest)

    back = roll_back(world.spec, world.connections, first)
    again = roll_back(world.spec, world.connections, newest)

    assert (back.offsets_again, again.offsets_again, again.position) == (2, 0, {0: 2, 1: 1})
    assert again.from_snapshot_id == first
    assert world.store.rows(world.table, head(world)) == rows
    assert read_ledger(world.table.metadata).position == {0: 2, 1: 1}
    assert land(world.spec, world.connections).records == 0


def test_a_rollback_that_a_landing_followed_is_not_rolled_back(world: World) -> None:
    newest, *_, first = (snapshot.snapshot_id for snapshot, _ in ledgers(world.table.metadata))
    roll_back(world.spec, world.connections, first)
    land(world.spec, world.connections)

    with pytest.raises(MissingError, match="went on"):
        roll_back(world.spec, world.connections, newest)
    assert read_ledger(world.table.metadata).position == {0: 2, 1: 1}


def head(world: World) -> int:
    return int(world.table.metadata.current_snapshot_id)
