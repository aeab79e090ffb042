"""The interval of landings: how often a table with a `budget` lands is chosen again each day."""

from __future__ import annotations

from datetime import timedelta

from frazil.connections import Connections
from frazil.landing.position.interval import ChosenInterval
from frazil.landing.position.ledger import ledgers
from frazil.spec.freshness import Budget
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import handle_of
from frazil.tables.commits.commit import set_properties
from frazil.tables.metadata.snapshots import made_at
from frazil.upkeep.kind import Kind, Known, Order, Reason, View, since
from frazil.upkeep.planning.choice import choice_of
from frazil.upkeep.work import WorkReport

_EVERY = timedelta(days=1)

_LEAST = 3600.0
"""Seconds of landings that a first choice needs: less would tell of no interval of minutes."""

_LOOKS = 600.0
"""Seconds between two looks at how long a table has landed."""


class LandInterval(Kind):
    """Chooses how often a table lands, by its budget and its own arrivals."""

    name, step, at_once = "land_interval", "choose_land_interval", 4
    about = "Chooses how often tables with a budget land."

    def run(self, spec: AnyTable, connections: Connections, now: float, order: Order) -> WorkReport:
        """See `Kind.run`."""
        return choose_interval(spec, connections, now, order)

    def why_due(self, known: Known, now: float) -> Reason | None:
        """See `Kind.why_due`."""
        finding = known.unworked(self)
        if not (_budget(known.spec) and finding and finding.result >= _LEAST):
            return None
        if not known.is_over(self, _EVERY, now):
            return None
        age = known.age(self, now)
        text = f"the table has a budget: {since('choice', age, _EVERY)}."
        return Reason(text, {"seconds_of_landings": round(finding.result, 3)})

    def needs_look(self, known: Known, now: float) -> bool:
        """Whether it is time to see for how long the table has landed."""
        finding = known.unworked(self)
        asked = finding is not None and now - finding.at < _LOOKS
        return bool(_budget(known.spec)) and known.is_over(self, _EVERY, now) and not asked

    def look(self, view: View, known: Known, now: float) -> float:
        """Seconds between the first and the last landing of the last day."""
        since_then = now - _EVERY.total_seconds()
        pairs = ((made_at(s), ledger) for s, ledger in ledgers(view.table.metadata))
        times = [at for at, ledger in pairs if ledger.is_landing and ledger.read and at >= since_then]
        return max(times) - min(times) if times else 0.0


def _budget(spec: AnyTable) -> Budget | None:
    return spec.budget if isinstance(spec, TableSpec) else None


def choose_interval(spec: AnyTable, connections: Connections, now: float, order: Order) -> WorkReport:
    """Notes in the table how often it lands from now on.

    Raises:
        ConfigureError: The budget can't be compared with the list of prices.
    """
    handle = handle_of(spec, connections)
    name, kind = str(handle.name), LandInterval.name
    if not (isinstance(spec, TableSpec) and spec.budget):
        return WorkReport(name, kind, done=False, text="Nothing: the table has no budget.")
    choice = choice_of(spec, handle.load().metadata, connections.settings, now)
    if choice is None:
        return WorkReport(name, kind, done=False, text="Nothing: the last day had fewer than two landings.")
    every = choice.option.every
    if not order.dry_run:
        set_properties(handle, ChosenInterval(every, choice.why).properties())
    would = "would land" if order.dry_run else "lands"
    text = f"The table {would} every {every:,} s while few records come. {choice.why}"
    numbers = {"every": every, "files_opened": round(choice.option.outcome.opened, 1)}
    return WorkReport(name, kind, done=True, text=text, numbers=numbers, dry_run=order.dry_run)
