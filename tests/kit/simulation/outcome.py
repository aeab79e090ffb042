"""What a simulated fleet of runners did, and what kept it from doing more."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import quantiles

import simpy

from kit.simulation.costs import Costs
from kit.simulation.fleet import Catalog, Fleet, Runner, Tally

_FULL = 0.9
"""Share of the time that something is busy, behind which queues grow."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Rates a second of the whole fleet; ages in seconds from a record to the commit that shows it.

    `cores` and `catalog` are shares of the time that each was busy.
    """

    landings: float
    p50: float
    p95: float
    cores: float
    catalog: float

    @property
    def wall(self) -> str:
        """What has no room for more."""
        full = {"the catalog": self.catalog, "the cores": self.cores}
        first = max(full, key=lambda name: full[name])
        return first if full[first] >= _FULL else "none"


def play(fleet: Fleet, seconds: float, costs: Costs | None = None) -> Outcome:
    """Plays a fleet for so many seconds of its own clock, of which the second half counts."""
    costs = costs or Costs()
    env, tally, share = simpy.Environment(), Tally(seconds / 2), fleet.share
    catalog = Catalog(env, fleet.commits / share, tally)
    for _ in range(fleet.runners // share):
        Runner(env, fleet, fleet.tables // fleet.runners, catalog, tally, costs)
    env.run(until=seconds)
    counted = seconds - tally.begin
    landings = tally.landings * share / counted
    ages = quantiles(tally.ages, n=20, method="inclusive") if len(tally.ages) > 1 else [float("inf")] * 19
    return Outcome(
        landings, ages[9], ages[18],
        cores=tally.cpu * share / counted / (fleet.runners * fleet.cores),
        catalog=tally.commits / counted,
    )  # fmt: skip
