"""A budget takes the interval that an exhaustive search would, by a simulation of each second."""

from __future__ import annotations

from random import Random

import pytest

from frazil.costs.prices import PriceList
from frazil.errors import ConfigureError
from frazil.spec.freshness import Budget
from frazil.upkeep.compaction.bins import Rule
from frazil.upkeep.planning.choice import INTERVALS, Choice, choose
from frazil.upkeep.planning.history import History
from frazil.upkeep.planning.options import options
from frazil.upkeep.planning.partition import Rates, Rules
from frazil.upkeep.planning.replay import Arrival
from kit.runs.simulated import Pattern, bursts, nights, one_huge_partition, simulated, steady

RULE = Rule(target=1000, small=750, large=1800, share=0.4)
RULES = Rules(RULE, small_bytes=600, compact_after=40.0, kept_for=300.0)
RATES = Rates(record_bytes=10.0, spread=1, landing_seconds=0.5, record_seconds=0.001, byte_seconds=0.001)
PRICES = PriceList.model_validate(
    {
        "prices": {
            "writes": {"price": 0.005, "of": "a test", "date": "2026-11-28"},
            "reads": {"price": 0.0004, "of": "a test", "date": "2026-11-28"},
            "cpu": {"price": 0.05, "of": "a test", "date": "2026-11-28"},
        }
    }
)
SETTINGS = (1, 2, 5, 10, 15, 30, 45, 60, 90, 120, 180, 240)
PATTERNS = (steady, bursts, nights, one_huge_partition)
MONTH = 730 * 3600


def money_of(played: dict[str, float], seconds: float) -> float:
    """For a month: what is put and read, and CPU by the hour."""
    asked = played["writes"] / 1000 * 0.005 + played["reads"] / 1000 * 0.0004
    return (asked + played["task_seconds"] / 3600 * 0.05) * MONTH / seconds


def chosen(arrivals: list[Arrival], **budget: str) -> Choice:
    choices = options(History(arrivals, RATES, ()), RULES, PRICES, INTERVALS, in_glue=False)
    return choose(Budget.model_validate(budget), choices, PRICES)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_no_setting_of_twelve_is_a_tenth_better_than_the_one_that_is_chosen(pattern: Pattern) -> None:
    arrivals = pattern(Random(38))
    seconds = arrivals[-1].at - arrivals[0].at + 1
    searched = {every: simulated(arrivals, every, RULES, RATES) for every in SETTINGS if every <= seconds}
    money = {every: money_of(played, seconds) for every, played in searched.items()}
    waits = {every: played["waited"] for every, played in searched.items()}

    for p95 in (2, 10, 40, 100, 200):
        taken = chosen(arrivals, p95=f"{p95}s").option
        played = simulated(arrivals, taken.every, RULES, RATES)
        best = min(cost for every, cost in money.items() if waits[every] <= p95)
        assert played["waited"] <= p95
        assert money_of(played, seconds) <= 1.1 * best

    for most in sorted(money.values())[1::3]:
        taken = chosen(arrivals, at_most=f"{most + 1e-6:.6f} USD/month").option  # as people round
        played = simulated(arrivals, taken.every, RULES, RATES)
        best = min(wait for every, wait in waits.items() if money[every] <= most)
        assert money_of(played, seconds) <= most + 2e-6
        assert played["waited"] <= 1.1 * best


def test_of_two_wishes_the_money_counts_more_and_the_choice_says_so() -> None:
    arrivals = steady(Random(1))
    fresh = chosen(arrivals, p95="5s")
    less = f"{fresh.option.amount.money / 4:.2f} USD/month"

    both = chosen(arrivals, p95="5s", at_most=less)
    nothing = chosen(arrivals, p95="5s", at_most="0.01 USD/month")
    never = chosen(arrivals, p95="0.1s")

    assert fresh.why.endswith("the cheapest interval that keeps p95.")
    assert "of the records of the last day would have waited 5 s at most, for " in fresh.why
    assert "at_most does not pay for p95" in both.why
    assert both.option.outcome.waited > 5
    assert both.option.amount.money <= fresh.option.amount.money / 4
    assert "at_most pays for no interval" in nothing.why
    assert (never.option.every, "no interval keeps p95" in never.why) == (1, True)


def test_a_budget_is_compared_with_prices_of_its_own_currency_alone() -> None:
    choices = options(History(steady(Random(1)), RATES, ()), RULES, PriceList(), INTERVALS, in_glue=False)

    with pytest.raises(ConfigureError, match="in EUR, and the list of prices in USD"):
        chosen(steady(Random(1)), at_most="3 EUR/month")
    with pytest.raises(ConfigureError, match="no price of cpu, reads, writes"):
        choose(Budget(at_most="3 USD/month"), choices, PriceList())
    assert chosen(steady(Random(1)), at_most="3 USD/month")
    assert choose(Budget.model_validate({"p95": "1m"}), choices, PriceList())
