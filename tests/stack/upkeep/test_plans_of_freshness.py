"""What a plan of freshness foretells is what landing the same arrivals at that interval comes to."""

from __future__ import annotations

from random import Random

import pytest

from frazil.connections import Connections
from frazil_local.home import Home
from kit.plans.lived import COUNTS, Stretch, bursts, live_at

pytestmark = pytest.mark.nightly

NEAR = 0.1


def test_a_run_at_one_interval_foretells_what_the_storage_counts_at_others(
    sharing: Connections, stack_home: Home
) -> None:
    stretch = Stretch(bursts(Random(38), seconds=1300, rate=5))

    often, seldom, rarely = (live_at(sharing, stack_home, stretch, every) for every in (30, 75, 300))

    for history in (often, seldom):  # one of 300 s knows four moments of three bursts
        for run in (often, seldom, rarely):
            foretold, counted = history.foretells(run.every), run.counted
            assert {n: getattr(foretold, n) for n in COUNTS} == pytest.approx(
                {n: getattr(counted, n) for n in COUNTS}, rel=NEAR
            ), (history.every, run.every)
            assert counted.rewritten > 0 < counted.reads
