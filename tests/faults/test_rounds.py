"""Random works over a wire that loses answers: nothing lost, nothing doubled, every message true.

FRAZIL_TEST_FAULTS says how many rounds there are, FRAZIL_TEST_SEED which ones these are.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from frazil.connections import Connections
from kit.runs.toll import Toll
from kit.stack.brokers import FarBroker
from kit.wires.faulty import faulty
from kit.wires.over_the_wire import over_the_wire

ROUNDS = int(os.environ.get("FRAZIL_TEST_FAULTS", "4"))
SEED = int(os.environ.get("FRAZIL_TEST_SEED") or time.time_ns() % 100_000 if ROUNDS > 4 else 11)
EACH = 25
"""Rounds of one topic, and of one test; then there is a new one, whose tables are yet to be made."""
MINE = ROUNDS // 2
"""Those of a catalog."""
A_HANG_IN = 50
"""Rounds of a catalog: it takes as long as a time limit."""


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalog or storage that is silent is given up after 15 seconds, not 60."""
    monkeypatch.setattr("frazil.tables.catalogs.client_properties.READ_SECONDS", 15.0)


@pytest.mark.nightly
@pytest.mark.also("glue", why="a lost answer ends in another way", nightly=True)
@pytest.mark.timeout(0)
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("begin", range(0, MINE, EACH))
def test_whatever_answer_is_lost_each_record_is_there_once_and_every_message_is_true(
    lake: Connections, far: FarBroker, fresh_name: str, tmp_path: Path, toll: Toll, begin: int
) -> None:
    print(f"FRAZIL_TEST_FAULTS={ROUNDS} FRAZIL_TEST_SEED={SEED}")
    dice, rounds = random.Random(f"{SEED} {lake.settings.catalog} {begin}"), min(EACH, MINE - begin)
    toll.attack, toll.seed = f"lost answers on the stack, {lake.settings.catalog}", str(SEED)
    # One Spark for all: upkeep's own takes as long as the machine has other things to do.
    settings = lake.settings.with_changes(spark={"upkeep_remote": None})
    with over_the_wire(settings, far) as (wire, connections):
        world = faulty(wire, connections, fresh_name, tmp_path, dice)
        world.hangs = int(MINE >= A_HANG_IN and begin % A_HANG_IN == 0)
        for _ in range(rounds):
            with toll.round():
                world.round()
            print(*world.story[-2:], sep="\n  ", flush=True)
        with toll.all():
            world.settle()
    assert rounds < EACH or wire.met, "too little failed"
