"""Each guard of the engine, taken out: the model finds a round that is broken, and is not with the guard."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.model.guards.every import GUARDS
from kit.model.guards.guard import Guard
from kit.model.parts.edges import Edges, edges
from kit.model.round import Case, play
from kit.model.seeds import SEEDS
from kit.runs.toll import Toll

MOST = 500
"""Rounds in which a guard must be missed."""


@pytest.fixture(scope="module")
def among() -> Iterator[Edges]:
    with edges() as doubles:
        for keyed in (False, True):  # what all rounds begin with is made by the whole engine
            play(doubles, Case({}, keyed=keyed))
        yield doubles


@pytest.mark.timeout(0)
@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.what)
def test_without_the_guard_a_round_is_broken_and_with_it_that_round_is_not(
    among: Edges, guard: Guard, monkeypatch: pytest.MonkeyPatch, toll: Toll
) -> None:
    toll.attack = "guards, each taken out and missed"
    with monkeypatch.context() as patch:
        guard.out(patch)
        seeds = (SEEDS.get(guard.what, 0), *range(MOST))
        seed = next((seed for seed in seeds if guard.breaks(among, seed)), None)

    print(f"{guard.what!r}: {seed},")
    with toll.round():
        assert seed is not None, "the attack is too weak, or nobody needs the guard"
        assert guard.breaks(among, seed) is None
