"""Interleavings of the engine's own functions, in memory: nothing lost, nothing doubled, every message true.

Landings, merges, redrives, compactions, expiries of snapshots and rows, rollbacks and another engine take
turns at every call to the catalog, to Kafka and at every deletion; commits lose their answers and processes
die (`kit.model`).

FRAZIL_TEST_MODEL says how many rounds there are, FRAZIL_TEST_SEED which ones. A round that fails is shrunk,
and told as the `Case` that plays it again.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from kit.model.edges import Edges, edges
from kit.model.round import Case, drawn, every, played
from kit.model.world import World

FEW = 40
ROUNDS = int(os.environ.get("FRAZIL_TEST_MODEL", FEW))
SEED = int(os.environ.get("FRAZIL_TEST_SEED") or time.time_ns() % 100_000 if ROUNDS > FEW else 11)

PAIR = {"first": ("produce", "land"), "second": ("land",)}
COMPACTED = {"first": ("land",), "second": ("land",), "upkeep": ("compact",)}
EXPIRED = {"first": ("land",), "second": ("land",), "upkeep": ("seven hours", "expire")}


@pytest.fixture
def among() -> Iterator[Edges]:
    with edges() as found:
        yield found


@pytest.mark.timeout(0)
def test_whatever_comes_between_each_record_is_there_once_and_every_message_is_true(among: Edges) -> None:
    print(f"FRAZIL_TEST_MODEL={ROUNDS} FRAZIL_TEST_SEED={SEED}")
    began, met, told = time.process_time(), Counter[str](), Counter[str]()
    for number in range(ROUNDS):
        case, dice = drawn(SEED * 100_000 + number)
        world = played(among, case, dice)
        met.update(world.catalog.met)
        told.update(_outcomes(world))
    print(f"{ROUNDS} rounds, {1000 * (time.process_time() - began) / ROUNDS:.0f} ms of CPU each")
    print(dict(met), *sorted(told.items()), sep="\n  ")
    assert met.total() > ROUNDS // 8, "too little failed"


@pytest.mark.timeout(0)
@pytest.mark.parametrize("route", ["branch", "files", "merge"])
@pytest.mark.parametrize("works", [PAIR, COMPACTED, EXPIRED] if ROUNDS > FEW else [PAIR], ids="-".join)
def test_at_every_call_another_may_come_and_every_commit_may_fail(
    among: Edges, works: dict[str, tuple[str, ...]], route: str
) -> None:
    at_once = 2 if ROUNDS > FEW and works is PAIR else 1
    case = Case(works, lane=route == "files", keyed=route == "merge")
    rounds = sum(1 for _ in every(among, case, at_once))

    print(f"{rounds} rounds: each with up to {at_once} turns or fates")
    assert rounds > 20


def _outcomes(world: World) -> Iterator[str]:
    """Such as `land: OvertakenError`."""
    return (": ".join(told.split(" ", 1)[1].split(": ")[:2]) for told in world.told)
