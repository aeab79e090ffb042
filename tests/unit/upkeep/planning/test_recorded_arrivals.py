"""What a budget takes for recorded arrivals, against an exhaustive search over twelve settings."""

from __future__ import annotations

from itertools import pairwise
from math import sqrt

import pytest

from frazil.costs.prices import load_prices
from frazil.costs.units import MONTH, Period
from frazil.spec.freshness import Budget
from frazil.spec.upkeep import Upkeep
from frazil.upkeep.compaction.bins import Rule
from frazil.upkeep.planning.choice import INTERVALS, choose
from frazil.upkeep.planning.history import history_of
from frazil.upkeep.planning.options import Option, options
from frazil.upkeep.planning.partition import Rates, Rules
from kit.runs.recorded_arrivals import PATTERNS, Recorded
from kit.runs.simulated import simulated_by_partition
from kit.tables.histories import START

MIB = 2**20
RULES = Rules(  # a spec's own, where it says nothing
    Rule.of(Upkeep(), 128 * MIB), small_bytes=128 * MIB, compact_after=900.0, kept_for=7 * 86400.0
)
RATES = Rates(
    record_bytes=1000.0, spread=1, landing_seconds=0.3, record_seconds=1e-5, byte_seconds=13 / 2**30
)
SETTINGS = (10, 20, 30, 60, 120, 300, 450, 600, 900, 1800, 2700, 3600)
NEAR = 1.1


class Searched:
    """What landing at several intervals comes to, played second by second on what was recorded."""

    def __init__(self, recorded: Recorded) -> None:
        self._arrivals = recorded.arrivals
        counts = max(map(len, recorded.partitions.values()))
        self._months = MONTH / (counts * recorded.seconds)
        self._played: dict[int, dict[str, float]] = {}

    def waits(self, every: int) -> float:
        """Seconds within which 95 % of the records were landed."""
        return self._play(every)["waited"]

    def money(self, every: int) -> float:
        """For a month: what is put and read, and CPU by the hour."""
        played = self._play(every)
        asked = played["writes"] / 1000 * 0.005 + played["reads"] / 1000 * 0.0004
        return (asked + played["task_seconds"] / 3600 * 0.052624) * self._months

    def _play(self, every: int) -> dict[str, float]:
        if every not in self._played:
            self._played[every] = simulated_by_partition(self._arrivals, every, RULES, RATES)
        return self._played[every]


def choices(recorded: Recorded) -> list[Option]:
    """What `frazil plan-freshness` has, by the table's own snapshots alone."""
    made = recorded.history(RATES)
    history = history_of(made.metadata, Period(START - 1, made.now))
    intervals = [every for every in INTERVALS if every >= SETTINGS[0] / 2]
    return options(history, RULES, load_prices(None), intervals, in_glue=False)


@pytest.mark.each_time("nights", "bursts")
@pytest.mark.parametrize("pattern", PATTERNS)
def test_no_setting_of_twelve_is_a_tenth_better_than_what_a_budget_takes(pattern: str) -> None:
    recorded, prices = Recorded.of(pattern), load_prices(None)
    searched, known = Searched(recorded), choices(recorded)
    money = {every: searched.money(every) for every in SETTINGS}

    for p95 in (15, 100, 400, 1000, 2500):
        taken = choose(Budget.model_validate({"p95": f"{p95}s"}), known, prices).option.every
        best = min(cost for every, cost in money.items() if searched.waits(every) <= p95)
        assert searched.waits(taken) <= NEAR * p95
        assert searched.money(taken) <= NEAR * best

    for less, more in pairwise(sorted(money.values())):
        most = sqrt(less * more)  # at a setting's own price the last digit of a sum would decide
        budget = Budget.model_validate({"at_most": f"{most:.6f} USD/month"})
        taken = choose(budget, known, prices).option.every
        best = min(searched.waits(every) for every in SETTINGS if money[every] <= most)
        assert searched.money(taken) <= NEAR * most
        assert searched.waits(taken) <= NEAR * best
