"""`frazil freshness`: how far each layer is behind, and how long commits took to reach it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.table import Table

from frazil.checks.layers.history import Delay
from frazil.checks.layers.report import Layer, Layers
from frazil.cli.console import print_json, print_table
from frazil.cli.moment import duration_of
from frazil.cli.selection import Json, Selection, Tables, select
from frazil.cli.views.tables import states_of
from frazil.publishing.targets import targets_of
from frazil.reporting import published_of
from frazil.spec.names import AssetPath
from frazil.spec.table import AnyTable

app = typer.Typer()

_PARTS = 24
"""Bars of a chart."""

_BARS = "▁▂▃▄▅▆▇█"

Since = Annotated[str, typer.Option(help="Count the commits of this time.")]


@app.command("freshness")
def freshness_command(tables: Tables = None, since: Since = "7d", as_json: Json = False) -> None:
    """Show how far each layer of tables is behind, and how long commits took to reach it."""
    now = time.time()
    start = now - duration_of(since, "--since").total_seconds()
    selection = select(tables, every=not tables)
    results = states_of(selection)
    layers = Layers(selection.connections, results.done, kept_delays(selection, start), start, now)
    delays = layers.of(selection.specs)
    rows = [row_of(layer) for layer in delays]
    print_json([*rows, *results.errors]) if as_json else _show(delays, start, now)
    results.exit()


def kept_delays(selection: Selection[AnyTable], since: float) -> Mapping[AssetPath, Sequence[Delay]] | None:
    """What those remember who heard of publications; None where nobody does."""
    settings = selection.connections.settings
    paths = [target.path for spec in selection.specs for target in targets_of(spec, settings)]
    kept = published_of(selection.reporters, paths, since)
    return None if kept is None else {path: each.delays for path, each in kept.items()}


def row_of(layer: Layer) -> dict[str, Any]:
    """A layer for scripts and pages."""
    allowed, known = layer.allowed, layer.delays.known
    p50, p95, p99 = layer.delays.quantiles() or (None, None, None)
    return {
        "table": layer.table,
        "layer": layer.layer,
        "seconds": layer.age.seconds,
        "why": layer.age.text,
        "warn": allowed.warn.total_seconds() if allowed and allowed.warn is not None else None,
        "error": allowed.error.total_seconds() if allowed and allowed.error is not None else None,
        "p50": p50,
        "p95": p95,
        "p99": p99,
        "commits": None if known is None else len(known),
    }


def _show(layers: Sequence[Layer], start: float, now: float) -> None:
    table = Table("table", "layer", "behind (s)", "warn", "error", "p50", "p95", "p99", "commits", "slowest")
    for layer in layers:
        row = row_of(layer)
        numbers = (row[name] for name in ("seconds", "warn", "error", "p50", "p95", "p99", "commits"))
        seconds, *others = ("" if n is None else f"{n:,.0f}" if n >= 10 else f"{n:.3g}" for n in numbers)
        table.add_row(layer.table, layer.layer, seconds or "?", *others, chart_of(layer, start, now))
    print_table(table)


def chart_of(layer: Layer, start: float, now: float) -> str:
    """The slowest commit of each part of the time, beside the slowest of all."""
    parts = layer.delays.highest(start, now, _PARTS)
    most = max((part for part in parts if part is not None), default=0.0) or 1.0
    return "".join(" " if p is None else _BARS[round(p / most * (len(_BARS) - 1))] for p in parts).rstrip()
