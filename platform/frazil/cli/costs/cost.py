"""`frazil cost`: what tables took, what that costs, and what other services list for the same traffic."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.table import Table

from frazil.cli.console import console, print_json, print_table
from frazil.cli.moment import duration_of
from frazil.cli.results import Results
from frazil.cli.selection import Json, Selection, Tables, select
from frazil.costs.prices import Amount, PriceList, amount_of, load_prices, money_text, services_of
from frazil.costs.report import NEVER_MEASURED, CostReader, Costs, lines_in
from frazil.costs.units import Grouping, Line, Period, Unit, Units, grouped, total_of
from frazil.publishing.target import Spent
from frazil.publishing.targets import targets_of
from frazil.reporting import published_of
from frazil.spec.names import AssetPath, things
from frazil.spec.table import AnyTable
from frazil.upkeep.work import size_text

app = typer.Typer()

Since = Annotated[str, typer.Option(help="Count the work of this time.")]
By = Annotated[Grouping, typer.Option(help="What a row of the table is.")]


@app.command("cost")
def cost_command(
    tables: Tables = None, since: Since = "30d", by: By = "table", as_json: Json = False
) -> None:
    """Show what tables took, what that costs by a list of prices, and what is not measured."""
    now = time.time()
    period = Period(now - duration_of(since, "--since").total_seconds(), now)
    selection = select(tables, every=not tables)
    prices = load_prices(selection.connections.settings.prices)
    results = costs_of(selection, period)
    if as_json:
        print_json({**document_of(results.reports, by, period, prices), "errors": results.errors})
    else:
        _show(results.reports, by, period, prices)
    results.exit()


def costs_of(selection: Selection[AnyTable], period: Period) -> Results[Costs]:
    """What each table took; those that can't be read are among the failed ones."""
    results = Results[Costs](failed=dict(selection.broken))
    reader = CostReader(selection.connections, period, *_published(selection, period.since))
    for spec, measured in reader.of(selection.specs):
        name = str(things(spec, selection.connections.settings).table)
        if isinstance(measured, Costs):
            results.done[name] = measured
        else:
            results.fail(name, measured, every=True)
    return results


def _published(
    selection: Selection[AnyTable], since: float
) -> tuple[dict[AssetPath, int] | None, Mapping[AssetPath, Spent]]:
    """How often each target was brought in step, and what that took, as those remember who heard of it."""
    settings = selection.connections.settings
    paths = [target.path for spec in selection.specs for target in targets_of(spec, settings)]
    kept = published_of(selection.reporters, paths, since)
    if kept is None:
        return None, {}
    counts = {path: len(each.delays) for path, each in kept.items()}
    return counts, {path: each.spent for path, each in kept.items()}


def _unmeasured(measured: Sequence[Costs]) -> list[str]:
    return [*NEVER_MEASURED, *(gap for costs in measured for gap in costs.gaps)]


def _whole(lines: Sequence[Line], period: Period) -> Units:
    return {**total_of(lines), "seconds": period.seconds}


def document_of(measured: Sequence[Costs], by: Grouping, period: Period, prices: PriceList) -> dict[str, Any]:
    """What tables took and cost, for scripts and pages."""
    lines = lines_in(measured)
    services = services_of(_whole(lines, period), prices)
    return {
        "since": period.since,
        "until": period.now,
        "currency": prices.currency,
        "rows": [{by: name, **_row(group, prices)} for name, group in grouped(lines, by).items()],
        "total": _row(lines, prices),
        "services": [{"service": name, **_priced(amount)} for name, amount in services.items()],
        "not_measured": _unmeasured(measured),
    }


def _row(lines: Sequence[Line], prices: PriceList) -> dict[str, Any]:
    units = total_of(lines)
    return {**dict(units.items()), **_priced(amount_of(units, prices))}


def _priced(amount: Amount) -> dict[str, Any]:
    return {"cost": amount.money, "without_price": [*amount.unknown]}


def _show(measured: Sequence[Costs], by: Grouping, period: Period, prices: PriceList) -> None:
    lines = lines_in(measured)
    table = cost_table(lines, by, prices, total=len(measured) > 1 or by != "table")
    print_table(table)
    if measured:
        _show_services(_whole(lines, period), prices)
        console.print(f"Not measured: {'; '.join(_unmeasured(measured))}.", style="dim")


def cost_table(lines: Sequence[Line], by: Grouping, prices: PriceList, *, total: bool) -> Table:
    """What people see of lines, with columns of Snowflake where it took anything."""
    more = [unit for unit in _OF_SNOWFLAKE if unit in total_of(lines)]
    table = Table(by, *_COLUMNS, *(_OF_SNOWFLAKE[unit] for unit in more), prices.currency)
    for name, group in grouped(lines, by).items():
        table.add_row(name, *_cells(group, more, prices))
    if total:
        table.add_row("total", *_cells(lines, more, prices))
    return table


_COLUMNS = ("records", "in", "written", "stored", "files", "commits", "writes", "reads", "CPU (s)")


_OF_SNOWFLAKE: Mapping[Unit, str] = {
    "statements": "statements", "refreshes": "refreshes", "warehouse_seconds": "warehouse (s)",
}  # fmt: skip
"""Columns that are shown where any table was published there."""


def _cells(lines: Sequence[Line], more: Sequence[Unit], prices: PriceList) -> Iterator[str]:
    units = total_of(lines)
    live, history = units.get("live_bytes"), units.get("history_bytes", 0)
    yield _number(units.get("records"))
    for size in (units.get("bytes_in"), units.get("bytes_written"), None if live is None else live + history):
        yield "" if size is None else size_text(int(size))
    yield _number(units.get("files"))
    yield _number(units.get("commits", units.get("publications")))
    yield _number(units.get("writes"))
    yield _number(units.get("reads"))
    yield _number(units.get("task_seconds"))
    yield from (_number(units.get(unit)) for unit in more)
    yield money_text(amount_of(units, prices))


def _number(count: float | None) -> str:
    if count is None:
        return ""
    return f"{count:,.0f}" if count >= 100 or count == int(count) else f"{count:.3g}"


def _show_services(units: Units, prices: PriceList) -> None:
    table = Table("for the same traffic", prices.currency)
    for name, amount in services_of(units, prices).items():
        table.add_row(name, money_text(amount))
    print_table(table)
