"""What landing at several intervals would have come to, and cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.costs.prices import Amount, PriceList, amount_of, load_prices
from frazil.costs.units import MONTH, Period, Unit
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from frazil.upkeep.planning.history import History, history_of, rules_of
from frazil.upkeep.planning.partition import Rules
from frazil.upkeep.planning.replay import Outcome, replay

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata

DAY = 86400.0


@dataclass(frozen=True, slots=True)
class Option:
    """Landing each `every` seconds.

    Args:
        seconds: How much time was replayed.
        amount: What it costs in a month, but for storage, which is the same for all.
    """

    every: int
    outcome: Outcome
    seconds: float
    amount: Amount

    @property
    def a_day(self) -> float:
        """What counts of the replay are to be multiplied with, for a day."""
        return DAY / self.seconds


@dataclass(frozen=True, slots=True)
class Plan:
    """What a table's own arrivals say of several intervals, by one list of prices."""

    history: History
    prices: PriceList
    options: list[Option]


def plan_of(
    spec: TableSpec, metadata: TableMetadata, settings: Settings, period: Period, intervals: Iterable[int]
) -> Plan:
    """Replays the arrivals of a time; without options where there were too few.

    Raises:
        SpecError: The list of prices has a mistake.
    """
    history, prices = history_of(metadata, period), load_prices(settings.prices)
    rules, in_glue = rules_of(spec, metadata, history), settings.catalog == "glue"
    return Plan(history, prices, options(history, rules, prices, intervals, in_glue=in_glue))


def options(
    history: History, rules: Rules, prices: PriceList, intervals: Iterable[int], *, in_glue: bool
) -> list[Option]:
    """The intervals that are no longer than the history, in their order.

    Args:
        in_glue: Whether Glue is the table's own catalog, which bills each commit as a request.
    """
    seconds = history.seconds
    short = [every for every in intervals if every <= seconds]
    outcomes = ((every, replay(history.arrivals, every, rules, history.rates)) for every in short)
    return [Option(e, o, seconds, _monthly(o, seconds, prices, in_glue=in_glue)) for e, o in outcomes]


def _monthly(outcome: Outcome, seconds: float, prices: PriceList, *, in_glue: bool) -> Amount:
    month = MONTH / seconds
    units: dict[Unit, float] = {
        "writes": outcome.writes * month,
        "reads": outcome.reads * month,
        "task_seconds": outcome.task_seconds * month,
    }
    if in_glue:
        units["glue_calls"] = outcome.commits * month
    return amount_of(units, prices)
