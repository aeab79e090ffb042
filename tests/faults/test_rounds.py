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
from kit.faulty import faulty
from kit.over_the_wire import over_the_wire

ROUNDS = int(os.environ.get("FRAZIL_TEST_FAULTS", "4"))
SEED = int(os.environ.get("FRAZIL_TEST_SEED") or time.time_ns() % 100_000 if ROUNDS > 4 else 11)
EACH = 10
"""Rounds of one topic; then there is a new one, whose tables are yet to be made."""
A_HANG_IN = 50
"""Rounds of a catalog: it takes as long as a time limit."""


@pytest.mark.timeout(0)
def test_whatever_answer_is_lost_each_record_is_there_once_and_every_message_is_true(
    both_routes: Connections, fresh_name: str, tmp_path: Path
) -> None:
    print(f"FRAZIL_TEST_FAULTS={ROUNDS} FRAZIL_TEST_SEED={SEED}")
    dice, mine = random.Random(f"{SEED} {both_routes.settings.catalog}"), ROUNDS // 2
    # One Spark for all: upkeep's own takes as long as the machine has other things to do.
    settings = both_routes.settings.with_changes(spark={"upkeep_remote": None})
    with over_the_wire(settings) as (wire, connections):
        for begin in range(0, mine, EACH):
            world = faulty(wire, connections, f"{fresh_name}_{begin}", tmp_path, dice)
            world.hangs = int(mine >= A_HANG_IN and begin % A_HANG_IN == 0)
            for _ in range(min(EACH, mine - begin)):
                world.round()
                print(f"{begin}: ", *world.story[-2:], sep="\n  ", flush=True)
            world.settle()
    assert mine < EACH or {fate for _, fate in wire.met} >= {"dropped", "failed", "replayed", "unsent"}
