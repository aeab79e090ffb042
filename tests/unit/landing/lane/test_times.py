"""When records came, as tasks count it, beside all timestamps in order."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from random import Random

import pyarrow as pa
import pytest

from frazil.landing.lane.times import Times, times_of

SHARES = (0.5, 0.05, 0.01)
NOW = 1_790_000_000_000


def drawn(chance: Random, span: int) -> list[int]:
    """Timestamps of a landing: most of them lie near each other, and a few far away."""
    near = [NOW - int(chance.expovariate(10 / span)) % span for _ in range(chance.randrange(1, 9_000))]
    return [*near, *([0, -1, NOW + 10**9] if chance.random() < 0.5 else [])]


def of_tasks(times: Sequence[int], tasks: int) -> Times:
    reports = []
    for task in range(tasks):
        counted, own = Times(), times[task::tasks]
        for start in range(0, len(own), 1_000):
            micros = [at * 1_000 + 7 for at in own[start : start + 1_000]]
            counted.add(pa.array([*micros, None], pa.timestamp("us", "UTC")))
        reports.append(json.loads(json.dumps(counted.report())))
    return times_of(reports)


@pytest.mark.parametrize("span", [1, 300, 30_000, 7 * 86_400_000])
def test_timestamps_that_records_do_not_exceed_are_known_to_a_small_part_of_their_span(span: int) -> None:
    for seed in range(10):
        chance = Random(f"{span}/{seed}")
        times = sorted(drawn(chance, span))
        reported = of_tasks(times, chance.randrange(1, 5)).not_exceeded(SHARES, times[-1])

        exact = [times[math.ceil(share * len(times)) - 1] for share in SHARES]
        assert all(abs(one - other) <= span / 256 for one, other in zip(reported, exact, strict=True)), seed


def test_few_moments_are_exact_however_far_apart_they_are() -> None:
    times = [0] * 3 + [NOW] * 96 + [NOW + 10**12]

    assert of_tasks(times, 2).not_exceeded(SHARES, times[-1]) == (NOW, NOW, 0)


def test_a_landing_without_records_has_no_such_timestamps() -> None:
    assert of_tasks([], 2).not_exceeded(SHARES, None) == ()
