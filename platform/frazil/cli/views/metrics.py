"""`frazil metrics`: how the tables stand, for Prometheus."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from frazil.checks.layers.report import Layer, Layers, States
from frazil.cli.console import console, print_json
from frazil.cli.moment import duration_of
from frazil.cli.selection import Json, Selection, select
from frazil.cli.views.freshness import kept_delays
from frazil.cli.views.tables import states_of
from frazil.errors import ConfigureError
from frazil.landing.position.state import look_at_parts
from frazil.spec.table import AnyTable

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from frazil.telemetry.metrics import Look, TableCost

app = typer.Typer()

Port = Annotated[
    int | None, typer.Option(min=0, max=65535, help="Serve the metrics on this port until Ctrl-C.")
]
Cost = Annotated[
    str, typer.Option(help="Also what each table cost in this time, such as 30d: reads all snapshots.")
]
Fresh = Annotated[
    str,
    typer.Option(
        "--freshness", help="Also each layer's delay, and that of its commits in this time, such as 7d."
    ),
]
Host = Annotated[str, typer.Option(help="The address to serve them on.")]


@app.command("metrics")
def metrics_command(
    port: Port = None, host: Host = "127.0.0.1", cost: Cost = "", fresh: Fresh = "", as_json: Json = False
) -> None:
    """Print the state of all tables as metrics for Prometheus, or serve them."""
    from prometheus_client import generate_latest

    from frazil.telemetry.metrics import registry_of, rows_of

    selection = select((), every=True)
    since = duration_of(cost, "--cost").total_seconds() if cost else None
    window = duration_of(fresh, "--freshness").total_seconds() if fresh else None
    registry = registry_of(lambda: _look(selection, since, window))
    if port is not None:
        _serve(registry, host, port)
    elif as_json:
        print_json(rows_of(registry))
    else:
        sys.stdout.write(generate_latest(registry).decode())


def _look(selection: Selection[AnyTable], since: float | None, window: float | None) -> Look:
    from frazil.telemetry.metrics import Look

    results = states_of(selection)
    parts = look_at_parts(selection.topics.specs, selection.connections)
    costs = () if since is None else tuple(_costs(selection, since))
    layers = () if window is None else _layers(selection, results.done, window)
    up = {part: why is None for part, why in parts.items()}
    return Look(results.reports, up, [*results.failed], costs, layers)


def _layers(selection: Selection[AnyTable], states: States, seconds: float) -> Sequence[Layer]:
    now = time.time()
    start = now - seconds
    kept = kept_delays(selection, start)
    return Layers(selection.connections, states, kept, start, now).of(selection.specs)


def _costs(selection: Selection[AnyTable], seconds: float) -> Iterator[TableCost]:
    from frazil.cli.costs.cost import costs_of
    from frazil.costs.prices import amount_of, load_prices
    from frazil.costs.units import Period, total_of
    from frazil.telemetry.metrics import TableCost

    now = time.time()
    prices = load_prices(selection.connections.settings.prices)
    for costs in costs_of(selection, Period(now - seconds, now)).reports:
        units = total_of(costs.lines)
        stored = units.get("live_bytes", 0) + units.get("history_bytes", 0)
        money = amount_of(units, prices).money
        yield TableCost(costs.table, stored, units.get("task_seconds"), money, prices.currency)


def _serve(registry: CollectorRegistry, host: str, port: int) -> None:
    from prometheus_client import start_http_server

    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as e:
        raise ConfigureError(
            f"Nothing can be served at {host}:{port}: {e.strerror}.", todo="Name another one by --port."
        ) from None
    console.print(f"http://{host}:{server.server_port}/metrics")
    thread.join()
