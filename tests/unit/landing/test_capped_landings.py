"""A call that lands in several capped landings: what its errors say of those before (`kit.model`)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from frazil.errors import OffsetsLostError
from frazil.landing.land import Step, land
from kit.model.parts.edges import edges
from kit.model.parts.stage import Dice
from kit.model.world import SPEC, World

CAPPED = SPEC.model_copy(update={"max_records": 2, "on_lost_records": "stop"})


@pytest.fixture
def world() -> Iterator[World]:
    with edges() as doubles:
        doubles.world = world = World(Dice())
        for _ in range(6):
            world.topic.produce(0)
        yield world


def test_an_error_behind_an_earlier_landing_of_the_call_says_what_that_one_landed(world: World) -> None:
    with pytest.raises(OffsetsLostError) as raised:
        land(CAPPED, world.connections, on_step=retention_after_a_landing(world))

    assert raised.value.meaning == (
        "1 earlier landing of this call is published, with 2 records. Then: 2 offsets are lost. "
        "Nothing was landed."
    )


def test_an_error_of_the_first_landing_is_told_as_it_is(world: World) -> None:
    land(CAPPED, world.connections, max_records=2)
    world.topic.retain(0, 4)

    with pytest.raises(OffsetsLostError) as raised:
        land(CAPPED, world.connections)

    assert raised.value.meaning == "2 offsets are lost. Nothing was landed."


def retention_after_a_landing(world: World) -> Step:
    def step(done: str) -> None:
        if done == "published":
            world.topic.retain(0, 4)

    return step
