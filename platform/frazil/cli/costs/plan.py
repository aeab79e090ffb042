"""`frazil plan-freshness`: what landing more often, or less, would cost a table."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table

from frazil.cli.console import console, print_json, print_table
from frazil.cli.moment import duration_of
from frazil.cli.selection import Json, Name, Selection, select_topics
from frazil.costs.prices import money_text
from frazil.costs.units import Period
from frazil.errors import NotYetError, UsageError
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import handle_of
from frazil.upkeep.kinds import KINDS
from frazil.upkeep.planning.options import Option, Plan, plan_of
from frazil.upkeep.run import do_work
from frazil.upkeep.work import size_text

app = typer.Typer()

EVERY = (1, 5, 60, 300, 900, 3600)
"""Seconds between landings that are replayed."""

Since = Annotated[str, typer.Option(help="Replay the arrivals of this time.")]
Choose = Annotated[
    bool,
    typer.Option("--choose", help="Choose by the table's budget now, from the arrivals of the last day."),
]


def _document(option: Option) -> dict[str, Any]:
    outcome, day = option.outcome, option.a_day
    return {
        "every": option.every,
        "freshness": 2 * option.every,
        "p95": outcome.waited,
        "commits": outcome.commits * day,
        "files": outcome.files * day,
        "writes": outcome.writes * day,
        "reads": outcome.reads * day,
        "bytes_rewritten": outcome.rewritten * day,
        "task_seconds": outcome.task_seconds * day,
        "files_opened": outcome.opened,
        "reads_of_a_reader": outcome.reader_reads,
        "cost": option.amount.money,
        "without_price": [*option.amount.unknown],
    }


@app.command("plan-freshness")
def plan_command(table: Name, since: Since = "1d", choose: Choose = False, as_json: Json = False) -> None:
    """Show what landing a table more often, or less, would cost, by replaying its own arrivals."""
    now = time.time()
    if choose:
        _choose(select_topics([table], every=False), now, as_json)
        return
    period = Period(now - duration_of(since, "--since").total_seconds(), now)
    selection = select_topics([table], every=False)
    plan = _plan(selection, period)
    history, rows, currency = plan.history, plan.options, plan.prices.currency
    if as_json:
        choices = [_document(option) for option in rows]
        print_json({"currency": currency, "assumed": [*history.assumed], "choices": choices})
    else:
        _show(rows, currency)
        if len(rows) < len(EVERY):
            longer = f"The landings of that time tell nothing of {EVERY[len(rows)]:,} s and more"
            console.print(f"{longer}: name a longer one by --since.", style="dim")
        if history.assumed:
            assumed = " and ".join(history.assumed)
            console.print(f"The snapshots tell nothing of {assumed}: docs/sizing.md's is taken.", style="dim")


def _plan(selection: Selection[TableSpec], period: Period) -> Plan:
    spec = selection.specs[0]
    connections = selection.connections.of(spec)
    with catalog_errors(connections.settings):
        metadata = handle_of(spec, connections).load().metadata
    plan = plan_of(spec, metadata, connections.settings, period, EVERY)
    if not plan.history.arrivals:
        raise NotYetError(
            f"{table_name(selection)} had fewer than two landings in that time.",
            todo="Name a longer time by --since, or wait for another landing.",
        )
    return plan


def _choose(selection: Selection[TableSpec], now: float, as_json: bool) -> None:
    """Has a table land as often as its budget takes, as upkeep does once a day."""
    spec = selection.specs[0]
    if spec.budget is None:
        raise UsageError(
            f"{table_name(selection)} has no budget to choose by.",
            todo="Write freshness: auto and budget: {p95: 60s, at_most: 20 USD/month} in its defs.yaml.",
        )
    report = do_work(KINDS["land_interval"], spec, selection.connections.of(spec), now)
    selection.tell(spec, report)
    print_json(asdict(report)) if as_json else console.print(report.text)


def table_name(selection: Selection[TableSpec]) -> str:
    """The name of the one table of a selection."""
    return str(next(iter(selection.pairs))[1].table)


def _show(rows: Iterable[Option], currency: str) -> None:
    table = Table(
        "every", "freshness", "p95", "commits a day", "files a day", "writes a day", "reads a day",
        "rewritten a day", "CPU a day (s)", "files opened", f"{currency} a month",
    )  # fmt: skip
    for option in rows:
        table.add_row(*_cells(option))
    print_table(table)


def _cells(option: Option) -> Iterator[str]:
    outcome, day = option.outcome, option.a_day
    yield f"{option.every} s"
    yield f"{2 * option.every} s"
    yield f"{outcome.waited:.0f} s"
    for count in (outcome.commits, outcome.files, outcome.writes, outcome.reads):
        yield f"{count * day:,.0f}"
    yield size_text(int(outcome.rewritten * day))
    yield f"{outcome.task_seconds * day:,.1f}"
    yield f"{outcome.opened:,.1f}"
    yield money_text(option.amount)
