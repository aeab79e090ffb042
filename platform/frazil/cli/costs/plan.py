"""`frazil plan-freshness`: what landing more often, or less, would cost a table."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.table import Table

from frazil.cli.console import console, print_json, print_table
from frazil.cli.costs.cost import money_text
from frazil.cli.moment import duration_of
from frazil.cli.selection import Json, Name, Selection, select_topics
from frazil.costs.planning.history import History, history_of, rules_of
from frazil.costs.planning.replay import Outcome, replay
from frazil.costs.prices import Amount, amount_of, load_prices
from frazil.costs.units import MONTH, Period, Unit
from frazil.errors import NotYetError
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import handle_of
from frazil.upkeep.work import size_text

app = typer.Typer()

EVERY = (1, 5, 60, 300, 900, 3600)
"""Seconds between landings that are replayed."""

_DAY = 86400.0

Since = Annotated[str, typer.Option(help="Replay the arrivals of this time.")]


@dataclass(frozen=True, slots=True)
class _Choice:
    """What landing so often would come to, for a day and a month."""

    every: int
    outcome: Outcome
    seconds: float  # that were replayed
    amount: Amount

    @property
    def a_day(self) -> float:
        return _DAY / self.seconds

    @property
    def document(self) -> dict[str, Any]:
        outcome, day = self.outcome, self.a_day
        return {
            "every": self.every,
            "freshness": 2 * self.every,
            "commits": outcome.commits * day,
            "files": outcome.files * day,
            "writes": outcome.writes * day,
            "bytes_rewritten": outcome.rewritten * day,
            "task_seconds": outcome.task_seconds * day,
            "files_opened": outcome.opened,
            "cost": self.amount.money,
            "without_price": [*self.amount.unknown],
        }


@app.command("plan-freshness")
def plan_command(table: Name, since: Since = "1d", as_json: Json = False) -> None:
    """Show what landing a table more often, or less, would cost, by replaying its own arrivals."""
    now = time.time()
    period = Period(now - duration_of(since, "--since").total_seconds(), now)
    selection = select_topics([table], every=False)
    history, choices = _choices(selection, period)
    currency = load_prices(selection.connections.settings.prices).currency
    if as_json:
        rows = [choice.document for choice in choices]
        print_json({"currency": currency, "assumed": [*history.assumed], "choices": rows})
    else:
        _show(choices, currency)
        if len(choices) < len(EVERY):
            longer = f"The landings of that time tell nothing of {EVERY[len(choices)]:,} s and more"
            console.print(f"{longer}: name a longer one by --since.", style="dim")
        if history.assumed:
            assumed = " and ".join(history.assumed)
            console.print(f"The snapshots tell nothing of {assumed}: docs/sizing.md's is taken.", style="dim")


def _choices(selection: Selection[TableSpec], period: Period) -> tuple[History, list[_Choice]]:
    spec = selection.specs[0]
    connections = selection.connections.of(spec)
    with catalog_errors(connections.settings):
        metadata = handle_of(spec, connections).load().metadata
    history, rules = history_of(metadata, period), rules_of(spec, metadata)
    if not history.arrivals:
        raise NotYetError(
            f"{table_name(selection)} had fewer than two landings in that time.",
            todo="Name a longer time by --since, or wait for another landing.",
        )
    seconds = max(1.0, history.arrivals[-1].at - history.arrivals[0].at + 1)
    prices = load_prices(connections.settings.prices)

    def priced(outcome: Outcome) -> Amount:
        month = MONTH / seconds
        units: dict[Unit, float] = {
            "writes": outcome.writes * month,
            "task_seconds": outcome.task_seconds * month,
        }
        if connections.settings.catalog == "glue":
            units["glue_calls"] = outcome.commits * month
        return amount_of(units, prices)

    intervals = [every for every in EVERY if every <= seconds]
    outcomes = ((every, replay(history.arrivals, every, rules, history.rates)) for every in intervals)
    return history, [_Choice(every, o, seconds, priced(o)) for every, o in outcomes]


def table_name(selection: Selection[TableSpec]) -> str:
    """The name of the one table of a selection."""
    return str(next(iter(selection.pairs))[1].table)


def _show(choices: Iterable[_Choice], currency: str) -> None:
    table = Table(
        "every", "freshness", "commits a day", "files a day", "writes a day", "rewritten a day",
        "CPU a day (s)", "files opened", f"{currency} a month",
    )  # fmt: skip
    for choice in choices:
        table.add_row(*_cells(choice))
    print_table(table)


def _cells(choice: _Choice) -> Iterator[str]:
    outcome, day = choice.outcome, choice.a_day
    yield f"{choice.every} s"
    yield f"{2 * choice.every} s"
    for count in (outcome.commits, outcome.files, outcome.writes):
        yield f"{count * day:,.0f}"
    yield size_text(int(outcome.rewritten * day))
    yield f"{outcome.task_seconds * day:,.1f}"
    yield f"{outcome.opened:,.1f}"
    yield money_text(choice.amount)
