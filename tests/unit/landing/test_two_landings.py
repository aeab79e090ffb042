"""Landings of one table at the same time, among stand-ins for Kafka and Spark (`kit.model`)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from frazil.kafka.facts import TopicFacts
from frazil.landing.arrivals import look_for_arrivals
from frazil.landing.land import land
from frazil.landing.state import table_states
from kit.model.edges import edges
from kit.model.stage import Dice
from kit.model.world import SPEC, World


@pytest.fixture
def world() -> Iterator[World]:
    with edges() as found:
        found.world = world = World(Dice())
        world.topic.produce(0)
        land(SPEC, world.connections)
        yield world


def test_who_looked_at_the_topic_before_another_landing_does_not_say_that_its_log_was_cut(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    another_lands_after_the_look(world, monkeypatch, "frazil.landing.land.topic_fact")

    assert land(SPEC, world.connections).records == 0


@pytest.mark.parametrize("module", ["arrivals", "state"])
def test_who_looks_at_a_table_that_is_being_landed_does_not_say_that_its_log_was_cut(
    world: World, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    another_lands_after_the_look(world, monkeypatch, f"frazil.landing.{module}.topic_facts")
    looks = {
        "arrivals": lambda: look_for_arrivals([SPEC], world.connections).seen[0][1],
        "state": lambda: table_states([SPEC], world.connections)[0],
    }

    assert looks[module]().state in ("current", "behind")


def another_lands_after_the_look(world: World, patch: pytest.MonkeyPatch, look: str) -> None:
    """The first answer about the topic is old when it arrives."""
    landed = []

    def tell(*_: object) -> TopicFacts | dict[str, TopicFacts]:
        facts = world.topic.facts
        if not landed:
            landed.append(facts)
            world.topic.produce(0)
            land(SPEC, world.connections)
        return facts if look.endswith("topic_fact") else {SPEC.topic: facts}

    patch.setattr(look, tell)
