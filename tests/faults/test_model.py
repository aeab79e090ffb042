"""Interleavings of the engine's own functions, in memory: nothing lost, nothing doubled, every message true.

Landings, merges, redrives, replays, compactions, expiries of snapshots and rows, forgettings, rollbacks and
another engine take turns at every call to the catalog, to Kafka and at every deletion; commits lose their
answers and processes die (`kit.model`).

FRAZIL_TEST_MODEL says how many rounds there are, FRAZIL_TEST_SEED which ones. A round that fails is shrunk,
and told as the `Case` that plays it again.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from kit.model.parts.edges import Edges, edges
from kit.model.round import Case, drawn, every, every_death, play, played
from kit.model.world import World
from kit.runs.toll import Toll

FEW = 40
ROUNDS = int(os.environ.get("FRAZIL_TEST_MODEL", FEW))
SEED = int(os.environ.get("FRAZIL_TEST_SEED") or time.time_ns() % 100_000 if ROUNDS > FEW else 11)
PARTS = 20 if ROUNDS > FEW else 1
"""Tests among which the rounds are dealt out, so that several processes share them."""

PAIR = {"first": ("produce", "land"), "second": ("land",)}
COMPACTED = {"first": ("land",), "second": ("produce", "land"), "upkeep": ("compact",)}
EXPIRED = {"first": ("land",), "second": ("produce", "land"), "upkeep": ("seven hours", "expire")}
ROUTES: dict[str, dict[str, bool]] = {
    "files": {"lane": True}, "spark": {}, "merge": {"keyed": True}, "upserts": {"keyed": True, "lane": True},
}  # fmt: skip
"""How rows are landed, and files written anew."""


@pytest.fixture
def among() -> Iterator[Edges]:
    with edges() as doubles:
        yield doubles


@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", range(PARTS))
def test_whatever_comes_between_each_record_is_there_once_and_every_message_is_true(
    among: Edges, toll: Toll, part: int
) -> None:
    print(f"FRAZIL_TEST_MODEL={ROUNDS} FRAZIL_TEST_SEED={SEED}")
    toll.attack, toll.seed = "works, turns, faults and deaths by chance", str(SEED)
    began, met, outcomes = time.process_time(), Counter[str](), Counter[str]()
    failed: list[Exception] = []
    for number in range(part, ROUNDS, PARTS):
        case, dice = drawn(SEED * 100_000 + number)
        try:
            with toll.round():
                world = (play if failed else played)(among, case, dice)
        except Exception as e:  # noqa: BLE001 - whatever it is: the others count, too
            failed.append(e)
            continue
        met.update(world.catalog.met)
        outcomes.update(_outcomes(world))
    print(f"{toll.rounds} rounds, {1000 * (time.process_time() - began) / toll.rounds:.0f} ms of CPU each")
    print(dict(met), *sorted(outcomes.items()), sep="\n  ")
    if failed:
        raise failed[0]
    assert met.total() > toll.rounds // 8, "too little failed"


@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", range(4) if ROUNDS > FEW else [0])
@pytest.mark.parametrize("route", ROUTES)
def test_of_two_landings_another_may_come_at_every_call_and_every_commit_may_fail(
    among: Edges, toll: Toll, route: str, part: int
) -> None:
    at_once, parts = (2, 4) if ROUNDS > FEW else (1, 1)
    toll.attack = f"{_title(PAIR)}: all with up to {at_once} turns or faults"
    with toll.all():
        for _ in every(among, _case(PAIR, route), at_once, share=(part, parts)):
            toll.rounds += 1

    assert toll.rounds > 20


@pytest.mark.timeout(0)
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("works", [COMPACTED, EXPIRED], ids="-".join)
def test_beside_upkeep_another_may_come_at_every_call_and_every_commit_may_fail(
    among: Edges, toll: Toll, works: dict[str, tuple[str, ...]], route: str
) -> None:
    at_once = 1 if ROUNDS > FEW else 0
    toll.attack = f"{_title(works)}: all with up to {at_once} turns or faults"
    with toll.all():
        for _ in every(among, _case(works, route), at_once):
            toll.rounds += 1

    assert toll.rounds > 20 * at_once


@pytest.mark.timeout(0)
@pytest.mark.parametrize("actor", COMPACTED)
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("works", [COMPACTED, EXPIRED] if ROUNDS > FEW else [COMPACTED], ids="-".join)
def test_whoever_dies_before_any_of_its_effects_the_others_make_it_good(
    among: Edges, toll: Toll, works: dict[str, tuple[str, ...]], route: str, actor: str
) -> None:
    at_once = 1 if ROUNDS > FEW else 0
    toll.attack = f"{_title(works)}: a death anywhere, and all with up to {at_once} turns"
    with toll.all():
        for _ in every_death(among, _case(works, route), actor, at_once):
            toll.rounds += 1

    assert toll.rounds > 1


def _case(works: dict[str, tuple[str, ...]], route: str) -> Case:
    return Case(works, **ROUTES[route])  # type: ignore[arg-type]


def _title(works: dict[str, tuple[str, ...]]) -> str:
    """Such as `land + land + compact`."""
    return " + ".join(", ".join(todo) for todo in works.values())


def _outcomes(world: World) -> Iterator[str]:
    """Such as `land: OvertakenError`."""
    return (": ".join(line.split(" ", 1)[1].split(": ")[:2]) for line in world.log)
