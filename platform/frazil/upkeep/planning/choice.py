"""How often a table lands by its `budget`: the interval that a replay of its own arrivals speaks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.costs.prices import PriceList, money_text
from frazil.costs.units import Period
from frazil.errors import ConfigureError
from frazil.settings.profile import Settings
from frazil.spec.freshness import Budget
from frazil.spec.topic import TableSpec
from frazil.upkeep.planning.options import DAY, Option, plan_of

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata

INTERVALS = (
    1, 2, 3, 5, 7, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300, 450, 600, 900, 1200, 1800, 2700, 3600,
)  # fmt: skip
"""Seconds between landings that are compared; those that are longer than the history are not."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One interval, and why."""

    option: Option
    why: str


def choice_of(spec: TableSpec, metadata: TableMetadata, settings: Settings, now: float) -> Choice | None:
    """What the budget of a table takes, by the arrivals of the last day; None where there were too few.

    Raises:
        ConfigureError: The budget can't be compared with the list of prices.
        SpecError: The list of prices has a mistake.
    """
    assert spec.budget
    plan = plan_of(spec, metadata, settings, Period(now - DAY, now), INTERVALS)
    return choose(spec.budget, plan.options, plan.prices) if plan.options else None


def choose(budget: Budget, candidates: Sequence[Option], prices: PriceList) -> Choice:
    """The cheapest interval that is fresh enough; where the money is too little for it, the freshest one.

    Without `p95` it is the freshest one for the money.

    Raises:
        ConfigureError: The budget can't be compared with the list of prices.
    """
    most, seconds = _money(budget, candidates, prices), _seconds(budget)
    fresh = [each for each in candidates if each.outcome.waited <= seconds]
    paid = [each for each in candidates if each.amount.money <= most]
    if budget.p95 and fresh and (cheapest := min(fresh, key=_cost)) in paid:
        return _choice(cheapest, "the cheapest interval that keeps p95", prices)
    if budget.p95 and not fresh and (freshest := min(candidates, key=_wait)) in paid:
        return _choice(freshest, "no interval keeps p95, and this is the freshest", prices)
    if not paid:
        return _choice(
            min(candidates, key=_cost), "at_most pays for no interval, and this is the cheapest", prices
        )
    less = "at_most does not pay for p95, and this is " if budget.p95 else ""
    return _choice(min(paid, key=_wait), f"{less}the freshest interval that at_most pays for", prices)


def _cost(option: Option) -> tuple[float, float]:
    return option.amount.money, option.outcome.waited


def _wait(option: Option) -> tuple[float, float]:
    return option.outcome.waited, option.amount.money


def _seconds(budget: Budget) -> float:
    return budget.p95.total_seconds() if budget.p95 else float("inf")


def _choice(option: Option, reason: str, prices: PriceList) -> Choice:
    waits = f"95 % of the records of the last day would have waited {option.outcome.waited:.0f} s at most"
    cost = f"for {money_text(option.amount)} {prices.currency} a month"
    return Choice(option, f"{waits}, {cost}: {reason}.")


def _money(budget: Budget, candidates: Sequence[Option], prices: PriceList) -> float:
    """What a month may cost."""
    if budget.money is None:
        return float("inf")
    most, currency = budget.money
    if currency != prices.currency:
        raise ConfigureError(
            f"The budget is in {currency}, and the list of prices in {prices.currency}.",
            meaning="How often the table lands stays as it is.",
            todo=f"Write at_most in {prices.currency}, or a list of your own (docs/cost.md).",
        )
    if unknown := sorted({name for each in candidates for name in each.amount.unknown}):
        raise ConfigureError(
            f"The list of prices has no price of {', '.join(unknown)}.",
            meaning="Nobody can tell what a landing costs; how often the table lands stays as it is.",
            todo="Add it to the list that FRAZIL_PRICES names, or leave at_most out.",
        )
    return most
