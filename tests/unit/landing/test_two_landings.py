"""Landings of one table at the same time, among stand-ins for Kafka and Spark (`kit.model`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from frazil.landing.arrivals import look_for_arrivals
from frazil.landing.land import land
from frazil.landing.position.state import table_states
from kit.model.parts.edges import edges
from kit.model.parts.stage import Dice
from kit.model.world import SPEC, World


@pytest.fixture
def world() -> Iterator[World]:
    with edges() as doubles:
        doubles.world = world = World(Dice())
        world.topic.produce(0)
        land(SPEC, world.connections)
        yield world


def test_who_looked_at_the_topic_before_another_landing_does_not_say_that_its_log_was_cut(
    world: World,
) -> None:
    with another_lands_after_the_look(world, "frazil.landing.land.topic_fact"):
        assert land(SPEC, world.connections).records == 0


@pytest.mark.parametrize("module", ["arrivals", "position.state"])
def test_who_looks_at_a_table_that_is_being_landed_does_not_say_that_its_log_was_cut(
    world: World, module: str
) -> None:
    looks = {
        "arrivals": lambda: look_for_arrivals([SPEC], world.connections).seen[0][1],
        "position.state": lambda: table_states([SPEC], world.connections)[0],
    }

    with another_lands_after_the_look(world, f"frazil.landing.{module}.known_facts"):
        assert looks[module]().state in ("current", "behind")


@contextmanager
def another_lands_after_the_look(world: World, look: str) -> Iterator[None]:
    """The first answer about the topic is old when it arrives.

    Undone before the world is: the fixture `monkeypatch` would put the world's stand-in back, for good.
    """
    landed = []

    def tell(*_: object) -> object:
        facts = world.topic.facts
        if not landed:
            landed.append(facts)
            world.topic.produce(0)
            land(SPEC, world.connections)
        return facts if look.endswith("topic_fact") else ({SPEC.topic: facts}, {})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(look, tell)
        yield
